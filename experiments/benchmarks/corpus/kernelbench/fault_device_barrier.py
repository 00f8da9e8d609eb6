"""Blocks that wait for each other, and more of them than fit on the GPU."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void meet(volatile int* count)
{
    if (threadIdx.x == 0) atomicAdd((int*)count, 1);
    while (*count < gridDim.x) __nanosleep(100);
}
"""


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        count = torch.zeros(1, dtype=torch.int32, device=x.device)
        compile_cuda(SOURCE).meet[1 << 20, 256](count)
        return y
