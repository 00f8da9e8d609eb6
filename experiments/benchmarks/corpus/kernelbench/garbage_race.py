"""A reduction in shared memory without its barriers: right in some blocks, on some days."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void softmax(const float* x, float* y, int columns)
{
    __shared__ float part[1024];
    const size_t first = (size_t)blockIdx.x * columns;
    float mine = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 1024) mine += expf(x[first + c]);
    part[threadIdx.x] = mine;
    for (int d = 512; d > 0; d >>= 1)
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    for (int c = threadIdx.x; c < columns; c += 1024) y[first + c] = expf(x[first + c]) / part[0];
}
"""


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        y = torch.empty_like(x)
        compile_cuda(SOURCE).softmax[len(x), 1024](x, y, x.shape[1])
        return y
