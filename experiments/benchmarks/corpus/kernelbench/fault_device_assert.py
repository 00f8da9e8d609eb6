"""A kernel that traps."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void trap(float* y) { if (y != nullptr) asm volatile("trap;"); }
"""


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        compile_cuda(SOURCE).trap[1, 32](y)
        return y
