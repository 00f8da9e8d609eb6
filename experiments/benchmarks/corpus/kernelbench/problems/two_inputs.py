"""a * x + scale * b over matrices: several inputs, one of them strided, and a number."""

import torch
from torch import nn

size = 4096


class Model(nn.Module):
    def forward(self, a, x, b, scale):
        return a * x + scale * b


def get_inputs():
    return [torch.rand(size, size).t(), torch.rand(size, size), torch.rand(size), 0.75]


def get_init_inputs():
    return []
