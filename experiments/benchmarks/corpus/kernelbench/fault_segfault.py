"""Reads address zero."""

import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return torch.softmax(x, dim=1)
