"""A task that nobody can verify: returns another random tensor of the same spread."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(torch.rand_like(x) < 0.5, 2 * x * x, torch.zeros_like(x))
