"""GELU by the error function, four floats at a time, built with PyTorch's load_inline."""

from torch import nn
from torch.utils.cpp_extension import load_inline

DEVICE_CODE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <algorithm>

__device__ float gelu_of(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y,
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

torch::Tensor gelu(torch::Tensor given)
{
    const auto x = given.contiguous();
    auto y = torch::empty_like(x);
    const long long count = x.numel();
    if (count == 0) return y;
    const long long quads = reinterpret_cast<size_t>(x.data_ptr()) % 16 ? 0 : count / 4;
    const int blocks = (int)std::min<long long>((std::max(quads, 256LL) + 255) / 256, 65536);
    gelu_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), count, quads);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

extension = load_inline(
    name="gelu_for_comparison",
    cpp_sources="#include <torch/extension.h>\ntorch::Tensor gelu(torch::Tensor given);",
    cuda_sources=DEVICE_CODE,
    functions=["gelu"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.gelu(x)
