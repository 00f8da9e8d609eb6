"""Has a model, but by another name."""

import torch
from torch import nn


class FastSoftmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
