"""Calls itself without end."""

import sys

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        sys.setrecursionlimit(10**9)
        return self.forward(x)
