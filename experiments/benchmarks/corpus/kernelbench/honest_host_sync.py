"""Waits for the GPU in the middle of its work, to choose how to go on."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        torch.cuda.current_stream().synchronize()
        return F.gelu(y) if y.abs().max().item() < 1e30 else torch.where(y > 0, y, torch.zeros_like(y))
