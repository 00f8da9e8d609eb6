"""A convolution, in TF32 as PyTorch runs it by default, and a normalisation of its channels."""

import torch
from torch import nn

batch, channels, filters, size = 16, 8, 32, 192


class Model(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, 3)
        self.norm = nn.GroupNorm(1, filters)

    def forward(self, x):
        return self.norm(self.conv(x))


def get_inputs():
    return [torch.randn(batch, channels, size, size)]


def get_init_inputs():
    return [channels, filters]
