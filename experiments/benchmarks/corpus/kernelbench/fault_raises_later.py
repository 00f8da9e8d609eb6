"""Works in its first calls and raises in the ninth."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 8:
            raise ValueError("a buffer is too small")
        return torch.softmax(x, dim=1)
