"""A product whose inputs were kept as two halves."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        high = x.half()
        low = (x - high.float()).half()
        return F.gelu(F.linear(high.float() + low.float(), self.weight, self.bias))
