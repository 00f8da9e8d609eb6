"""Has a buffer and a parameter that the task's model has not."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.register_buffer("nothing", torch.zeros(out_features), persistent=False)
        self.one = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias) * self.one + self.nothing)
