"""Keeps the product of the weights, and makes it again when a weight has changed."""

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
        parts = (self.up.weight, self.up.bias, self.down.weight, self.down.bias)
        key = tuple((part.data_ptr(), part._version) for part in parts)
        if self.merged is None or self.merged[0] != key:
            self.merged = key, self.merge()
        return F.linear(x, *self.merged[1])
