"""A kernel whose templates would take the compiler for ever."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
template <int A, int B> struct Grow {
    static __device__ float sum(float v) { return Grow<A - 1, 2 * B>::sum(v) + Grow<A - 1, 2 * B + 1>::sum(v); }
};
template <int B> struct Grow<0, B> { static __device__ float sum(float v) { return v * B; } };
extern "C" __global__ void bomb(float* y) { y[0] = Grow<26, 1>::sum(y[1]); }
"""


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        compile_cuda(SOURCE, options=("-ftemplate-depth=100000",)).bomb[1, 1](y)
        return y
