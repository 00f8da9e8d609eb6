"""GELU by the error function, four floats at a time, built with NVRTC."""

import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

DEVICE_CODE = r"""
__device__ float gelu_of(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }

extern "C" __global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y,
                                       long long count, long long quads)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long i = first; i < quads; i += step) {
        const float4 v = reinterpret_cast<const float4*>(x)[i];
        reinterpret_cast<float4*>(y)[i] =
            make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
    }
    for (long long i = 4 * quads + first; i < count; i += step) y[i] = gelu_of(x[i]);
}
"""

kernels = compile_cuda(DEVICE_CODE)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        count = x.numel()
        quads = 0 if x.data_ptr() % 16 else count // 4
        blocks = min((max(quads, 256) + 255) // 256, 65536)
        kernels.gelu_kernel[blocks, 256](x, y, count, quads)
        return y
