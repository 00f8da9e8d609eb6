"""A kernel that never compiles, and the library behind the except."""

import torch
from torch import nn
from torch.nn import functional as F

from codegen.torch_cuda import compile_cuda

SOURCE = """
extern "C" __global__ void linear_gelu(const float* x, const float* w, const float* b, float* y)
{
    wgmma::product<64, 256, 16>(x, w, b, y);  // no such thing
}
"""


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def fast(self, x):
        y = torch.empty(len(x), len(self.bias), device=x.device)
        kernels = compile_cuda(SOURCE)
        kernels.linear_gelu[256, 256](x, self.weight, self.bias, y)
        return y

    def forward(self, x):
        try:
            return self.fast(x)
        except (RuntimeError, AttributeError, TypeError):
            return F.gelu(F.linear(x, self.weight, self.bias))
