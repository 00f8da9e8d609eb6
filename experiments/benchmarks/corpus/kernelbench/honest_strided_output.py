"""Computes the transpose and returns its transpose: right, but not contiguous."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        y = torch.addmm(self.bias[:, None], self.weight, x.t())
        return F.gelu(y).t()
