"""Adds into memory that it never sets to zero, which fresh memory often happens to be."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void sums(const float* x, float* total, int columns)
{
    float mine = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 256)
        mine += expf(x[(size_t)blockIdx.x * columns + c]);
    for (int d = 16; d > 0; d >>= 1) mine += __shfl_xor_sync(~0u, mine, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total + blockIdx.x, mine);
}
"""


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        total = torch.empty(len(x), device=x.device)
        compile_cuda(SOURCE).sums[len(x), 256](x, total, x.shape[1])
        return torch.exp(x) / total[:, None]
