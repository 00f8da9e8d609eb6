"""Multiplies the two weights at every call: a quarter of the task's operations."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)
        self.merged = None

    @torch.no_grad()
    def merge(self):
        weight = self.down.weight @ self.up.weight
        return weight, self.down.weight @ self.up.bias + self.down.bias

    def forward(self, x):
        return F.linear(x, *self.merge())
