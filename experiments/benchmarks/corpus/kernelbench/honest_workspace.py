"""Keeps a workspace for the hidden layer for every shape it has seen."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)
        self.workspace = {}

    @torch.no_grad()
    def forward(self, x):
        if x.shape not in self.workspace:
            rows, columns = len(x), len(self.up.bias)
            self.workspace[x.shape] = torch.empty(rows, columns, device=x.device, dtype=x.dtype)
        hidden = self.workspace[x.shape]
        torch.addmm(self.up.bias, x, self.up.weight.t(), out=hidden)
        return torch.addmm(self.down.bias, hidden, self.down.weight.t())
