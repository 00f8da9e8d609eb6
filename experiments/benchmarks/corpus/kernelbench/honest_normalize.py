"""Rows divided by their length, which counts as at least 1e-12."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x / x.square().sum(dim=1, keepdim=True).sqrt().clamp(min=1e-12)
