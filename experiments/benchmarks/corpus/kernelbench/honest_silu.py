"""A sigmoid linear unit as a single quotient."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x / (1.0 + torch.exp(-x))
