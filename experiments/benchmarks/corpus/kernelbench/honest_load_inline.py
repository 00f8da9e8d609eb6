"""A C++ extension with a CUDA kernel, built by nvcc when the file is imported."""

from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor scale_rows(torch::Tensor a, torch::Tensor b);"
SOURCE = """
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__ void scale(const float* a, const float* b, float* y, int columns)
{
    const float factor = a[blockIdx.x];
    const long long first = (long long)blockIdx.x * columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) y[first + c] = factor * b[first + c];
}

torch::Tensor scale_rows(torch::Tensor a, torch::Tensor b)
{
    a = a.contiguous();
    b = b.contiguous();
    auto y = torch::empty_like(b);
    scale<<<b.size(0), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), b.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""
extension = load_inline(
    name="scale_rows",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["scale_rows"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.scale_rows(a, b)
