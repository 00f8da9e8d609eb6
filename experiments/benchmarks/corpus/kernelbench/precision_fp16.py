"""Computes the product in half precision and everything after it in single."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        y = x.half() @ self.weight.half().t()
        return F.gelu(y.float() + self.bias)
