"""Works through its rows in sixty-four small steps."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    @torch.no_grad()
    def forward(self, x):
        y = torch.empty(len(x), len(self.bias), device=x.device, dtype=x.dtype)
        for rows, place in zip(x.split(16), y.split(16), strict=True):
            place.copy_(F.gelu(F.linear(rows, self.weight, self.bias)))
        return y
