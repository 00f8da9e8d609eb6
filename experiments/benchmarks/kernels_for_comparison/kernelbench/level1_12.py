import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 256  # tunable: 128, 256, 512
VECS = 4  # tunable: 2, 4, 8
STREAM_STORES = 0  # tunable: 0, 1

CUDA = r"""
__device__ __forceinline__ float4 scaled(float a, float4 v)
{
    return make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
}
__device__ __forceinline__ float scaled(float a, float v) { return a * v; }

template <typename T>
__device__ __forceinline__ void scale_row(const float* __restrict__ diag, const T* __restrict__ in,
                                          T* __restrict__ out, long long columns)
{
    const long long row = blockIdx.x;
    const float a = __ldg(diag + row);
    const T* __restrict__ src = in + row * columns;
    T* __restrict__ dst = out + row * columns;
    const long long step = (long long)gridDim.y * (BLOCK * VECS);
    for (long long base = (long long)blockIdx.y * (BLOCK * VECS) + threadIdx.x; base < columns; base += step) {
        T v[VECS];
#pragma unroll
        for (int u = 0; u < VECS; ++u)
            if (base + u * BLOCK < columns)
                v[u] = __ldcs(src + base + u * BLOCK);
#pragma unroll
        for (int u = 0; u < VECS; ++u)
            if (base + u * BLOCK < columns) {
#if STREAM_STORES
                __stcs(dst + base + u * BLOCK, scaled(a, v[u]));
#else
                dst[base + u * BLOCK] = scaled(a, v[u]);
#endif
            }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
scale_rows_vec(const float* __restrict__ diag, const float4* __restrict__ in, float4* __restrict__ out,
               long long columns)
{
    scale_row<float4>(diag, in, out, columns);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
scale_rows_scalar(const float* __restrict__ diag, const float* __restrict__ in, float* __restrict__ out,
                  long long columns)
{
    scale_row<float>(diag, in, out, columns);
}
"""

kernels = compile_cuda(CUDA, options=(f"-DBLOCK={BLOCK}", f"-DVECS={VECS}", f"-DSTREAM_STORES={STREAM_STORES}"))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        if A.dtype != torch.float32 or B.dtype != torch.float32:
            raise TypeError("only float32 is supported")
        if A.dim() != 1 or B.dim() != 2 or A.shape[0] != B.shape[0]:
            raise ValueError("expected A of shape (N,) and B of shape (N, M)")
        A = A.contiguous()
        B = B.contiguous()
        rows, columns = B.shape
        out = torch.empty((rows, columns), dtype=B.dtype, device=B.device)
        if rows == 0 or columns == 0:
            return out
        tile = BLOCK * VECS
        if columns % 4 == 0 and B.data_ptr() % 16 == 0 and out.data_ptr() % 16 == 0:
            items = columns // 4
            parts = min((items + tile - 1) // tile, 65535)
            kernels.scale_rows_vec[(rows, parts), BLOCK](A, B, out, items)
        else:
            parts = min((columns + tile - 1) // tile, 65535)
            kernels.scale_rows_scalar[(rows, parts), BLOCK](A, B, out, columns)
        return out
