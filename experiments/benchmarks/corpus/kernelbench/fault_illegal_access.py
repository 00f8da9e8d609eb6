"""A kernel that writes where nothing is mapped."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void stray(float* y) { y[(1LL << 40) + threadIdx.x] = 1.0f; }
"""


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        compile_cuda(SOURCE).stray[132, 256](y)
        return y
