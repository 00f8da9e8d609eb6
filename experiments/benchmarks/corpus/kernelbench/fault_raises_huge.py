"""Raises an exception with fifty megabytes of text in it."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError("x" * 50_000_000)
