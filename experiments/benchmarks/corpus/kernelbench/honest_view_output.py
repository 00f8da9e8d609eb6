"""Returns a view into a larger buffer with padded rows."""

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
        y = torch.empty(len(x), len(self.bias) + 32, device=x.device, dtype=x.dtype)[:, :-32]
        y.copy_(F.gelu(F.linear(x, self.weight, self.bias)))
        return y
