"""Lets PyTorch's compiler do the work, with the graphs it likes to replay."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.compiled = None

    def work(self, x):
        return F.gelu(F.linear(x, self.weight, self.bias))

    @torch.no_grad()
    def forward(self, x):
        if self.compiled is None:
            self.compiled = torch.compile(self.work, mode="reduce-overhead")
        return self.compiled(x)
