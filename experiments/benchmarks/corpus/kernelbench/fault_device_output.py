"""A kernel whose every thread prints, at every call."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void shout(const float* x)
{
    for (int i = 0; i < 100; ++i) printf("%d %d %f the quick brown fox\\n", blockIdx.x, threadIdx.x, x[i]);
}
"""


class ModelNew(nn.Module):
    def forward(self, x):
        compile_cuda(SOURCE).shout[132, 256](x)
        return torch.softmax(x, dim=1)
