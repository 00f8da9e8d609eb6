"""Prefers a package that may not be there, and says so with a try."""

import torch
from torch import nn
from torch.nn import functional as F

try:
    import fused_linear_gelu as fused
except ImportError:
    fused = None


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        if fused is not None and hasattr(fused, "linear_gelu"):
            return fused.linear_gelu(x, self.weight, self.bias)
        return F.gelu(F.linear(x, self.weight, self.bias))
