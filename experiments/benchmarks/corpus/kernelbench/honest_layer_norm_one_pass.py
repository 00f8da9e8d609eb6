"""Layer normalisation in one pass, about the first element of each row."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        first = x[:, :1]  # a shift keeps the sum of squares small
        moved = x - first
        mean = moved.mean(dim=1, keepdim=True)
        variance = (moved.square().mean(dim=1, keepdim=True) - mean * mean).clamp(min=0)
        scale = torch.rsqrt(variance + self.norm.eps)
        return (moved - mean) * scale * self.norm.weight + self.norm.bias
