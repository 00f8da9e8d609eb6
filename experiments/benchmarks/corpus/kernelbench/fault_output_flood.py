"""Prints a gigabyte."""

import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        line = b"all work and no play makes a long log\n" * 27_594
        for _ in range(1024):
            os.write(1, line)
            os.write(2, line[:1000])
        return torch.softmax(x, dim=1)
