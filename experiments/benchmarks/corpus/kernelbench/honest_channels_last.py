"""Convolves with channels last, and returns its output in that memory format."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size, padding=1)

    def forward(self, x):
        x = x.contiguous(memory_format=torch.channels_last_3d)
        weight = self.conv.weight.contiguous(memory_format=torch.channels_last_3d)
        return F.conv3d(x, weight, self.conv.bias, padding=1)
