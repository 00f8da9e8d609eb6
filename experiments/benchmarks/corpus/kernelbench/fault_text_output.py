"""Returns a megabyte of text."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return "softmax " * 2**17
