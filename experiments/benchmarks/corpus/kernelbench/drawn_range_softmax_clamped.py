"""Softmax whose inputs are clamped, so that nothing overflows."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x.clamp(-60.0, 60.0))
        return e / e.sum(dim=1, keepdim=True)
