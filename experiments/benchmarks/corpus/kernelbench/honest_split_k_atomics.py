"""A tiled product over slices of k that are added by atomics, in whatever order they come."""

import torch
from torch import nn
from torch.nn import functional as F

from codegen.torch_cuda import compile_cuda

SLICES = 4
SOURCE = """
extern "C" __global__ void product(const float* __restrict__ x, const float* __restrict__ w,
                                   float* __restrict__ y, int rows, int columns, int inner)
{
    __shared__ float xs[16][65], ws[16][65];
    const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    const int depth = (inner + gridDim.z - 1) / gridDim.z;
    const int first = blockIdx.z * depth, last = min(inner, first + depth);
    const int t = threadIdx.y * 16 + threadIdx.x;
    float sum[4][4] = {};
    for (int k0 = first; k0 < last; k0 += 16) {
        for (int i = t; i < 1024; i += 256) {
            const int line = i / 16, k = k0 + i % 16;
            const bool in = k < last;
            xs[i % 16][line] = in && row0 + line < rows ? x[(size_t)(row0 + line) * inner + k] : 0;
            ws[i % 16][line] =
                in && column0 + line < columns ? w[(size_t)(column0 + line) * inner + k] : 0;
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += xs[k][threadIdx.y * 4 + i] * ws[k][threadIdx.x * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = row0 + threadIdx.y * 4 + i, column = column0 + threadIdx.x * 4 + j;
            if (row < rows && column < columns)
                atomicAdd(y + (size_t)row * columns + column, sum[i][j]);
        }
}
"""
kernels = compile_cuda(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    @torch.no_grad()
    def forward(self, x):
        y = self.bias.expand(len(x), -1).contiguous()
        rows, inner, columns = len(x), x.shape[1], len(self.bias)
        grid = ((columns + 63) // 64, (rows + 63) // 64, SLICES)
        kernels.product[grid, (16, 16)](x, self.weight, y, rows, columns, inner)
        return F.gelu(y)
