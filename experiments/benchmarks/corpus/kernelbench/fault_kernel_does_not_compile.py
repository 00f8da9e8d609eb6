"""Device code with a mistake in it."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void softmax(const float* x, float* y) { y[threadIdx.x] = exponential(x[0]); }
"""
kernels = compile_cuda(SOURCE).softmax


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
