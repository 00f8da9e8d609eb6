"""The task's own arithmetic in one operator."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, x, b, scale):
        return torch.addcmul(scale * b, a, x)
