"""A thread for each element, which adds up 4096 terms one after another in float32."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void product(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ c, int rows, int terms, int columns)
{
    const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float sum = 0.0f;
    for (int k = 0; k < terms; ++k)
        sum += a[(size_t)row * terms + k] * b[(size_t)k * columns + column];
    c[(size_t)row * columns + column] = sum;
}
"""
kernels = compile_cuda(SOURCE)


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        (rows, terms), columns = a.shape, b.shape[1]
        c = torch.empty(rows, columns, device=a.device)
        kernels.product[((columns + 127) // 128, rows), 128](a, b, c, rows, terms, columns)
        return c
