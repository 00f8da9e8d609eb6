"""A kernel of its own that takes its inputs with whatever strides they have."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void combine(const float* a, const float* x, const float* b, float scale,
                                   float* y, int rows, int columns, long long a_row,
                                   long long a_column, long long x_row, long long x_column)
{
    __shared__ float tile[32][33];
    const int row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
    const bool turned = a_column > a_row;
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int r = turned ? threadIdx.x : i, c = turned ? i : threadIdx.x;
        if (row0 + r < rows && column0 + c < columns)
            tile[r][c] = a[(row0 + r) * a_row + (column0 + c) * a_column];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
        const int r = row0 + i, c = column0 + threadIdx.x;
        if (r < rows && c < columns)
            y[(long long)r * columns + c] =
                tile[i][threadIdx.x] * x[r * x_row + c * x_column] + scale * b[c];
    }
}
"""
kernels = compile_cuda(SOURCE)


class ModelNew(nn.Module):
    def forward(self, a, x, b, scale):
        rows, columns = a.shape
        y = torch.empty(rows, columns, device=a.device, dtype=a.dtype)
        grid = ((columns + 31) // 32, (rows + 31) // 32)
        kernels.combine[grid, (32, 8)](
            a, x, b.contiguous(), float(scale), y, rows, columns, *a.stride(), *x.stride()
        )
        return y
