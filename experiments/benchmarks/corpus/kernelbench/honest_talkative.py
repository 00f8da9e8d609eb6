"""Prints and warns a little, as research code does."""

import logging
import warnings

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        print(f"call {self.calls} on {tuple(x.shape)}")
        if self.calls == 1:
            warnings.warn("no fused kernel for this GPU, falling back to two launches", stacklevel=2)
            logging.getLogger(__name__).warning("first call")
        return F.gelu(F.linear(x, self.weight, self.bias))
