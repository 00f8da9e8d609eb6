"""A launch that fails, whose error nobody looks at; what it returns was never written."""

import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        y = torch.empty(len(x), len(self.bias), device=x.device, dtype=x.dtype)
        driver = ctypes.CDLL("libcuda.so.1")
        nothing = ctypes.c_void_p()
        driver.cuLaunchKernel(nothing, 1, 1, 1, 2048, 1, 1, 0, nothing, nothing, nothing)
        return y
