"""Rows divided by their length, however small that is."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.square().sum(dim=1, keepdim=True))
