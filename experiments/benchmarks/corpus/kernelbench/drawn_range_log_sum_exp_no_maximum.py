"""The logarithm of a sum of exponentials, without a shift."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.exp(x).sum(dim=1).log()
