import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 256  # tunable: 128, 256, 512
UNROLL = 8  # tunable: 4, 8, 16
SPLIT = 2  # tunable: 1, 2, 4, 8

CUDA = r"""
__device__ __forceinline__ float4 plus(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ void clear(float4& a) { a = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
__device__ __forceinline__ void clear(float& a) { a = 0.0f; }

template <int N, typename T>
__device__ __forceinline__ T tree(const T* v)
{
    if constexpr (N == 1)
        return v[0];
    else
        return plus(tree<N / 2>(v), tree<N / 2>(v + N / 2));
}

// in: (outer, length, width) of T; part: (outer, splits, width) of T
template <typename T>
__device__ __forceinline__ void sum_part(const T* __restrict__ in, T* __restrict__ part, long long length,
                                         long long width, long long share, int splits, long long tiles)
{
    const long long tile = blockIdx.x % tiles;
    const long long rest = blockIdx.x / tiles;
    const long long split = rest % splits;
    const long long outer = rest / splits;
    const long long column = tile * BLOCK + threadIdx.x;
    if (column >= width)
        return;
    const long long begin = split * share;
    const long long end = begin + share < length ? begin + share : length;
    const T* __restrict__ src = in + (outer * length + begin) * width + column;
    T total;
    clear(total);
    long long row = begin;
    for (; row + UNROLL <= end; row += UNROLL) {
        T v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            v[u] = __ldcs(src + u * width);
        src += UNROLL * width;
        total = plus(total, tree<UNROLL>(v));
    }
    for (; row < end; ++row) {
        total = plus(total, __ldcs(src));
        src += width;
    }
    part[(outer * splits + split) * width + column] = total;
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
sum_part_vec(const float4* __restrict__ in, float4* __restrict__ part, long long length, long long width,
             long long share, int splits, long long tiles)
{
    sum_part<float4>(in, part, length, width, share, splits, tiles);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
sum_part_scalar(const float* __restrict__ in, float* __restrict__ part, long long length, long long width,
                long long share, int splits, long long tiles)
{
    sum_part<float>(in, part, length, width, share, splits, tiles);
}

// part: (outer, pieces, inner), out: (outer, inner)
extern "C" __global__ void __launch_bounds__(BLOCK)
fold(const float* __restrict__ part, float* __restrict__ out, long long count, long long inner, int pieces)
{
    const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count)
        return;
    const long long outer = i / inner;
    const float* __restrict__ src = part + outer * pieces * inner + (i - outer * inner);
    float total = 0.0f;
#pragma unroll 8
    for (int p = 0; p < pieces; ++p)
        total += src[p * inner];
    out[i] = total;
}
"""

kernels = compile_cuda(CUDA, options=(f"-DBLOCK={BLOCK}", f"-DUNROLL={UNROLL}"))


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        if x.dtype != torch.float32:
            raise TypeError("only float32 is supported")
        x = x.contiguous()
        rank = x.dim()
        if not isinstance(self.dim, int) or not -rank <= self.dim < rank:
            raise ValueError("one dimension of the tensor is expected")
        dim = self.dim % rank
        shape = list(x.shape)
        length = shape[dim]
        outer = 1
        for size in shape[:dim]:
            outer *= size
        inner = 1
        for size in shape[dim + 1:]:
            inner *= size
        shape[dim] = 1
        out = torch.empty(shape, dtype=x.dtype, device=x.device)
        count = outer * inner
        if count == 0:
            return out
        if length == 0:
            return out.zero_()

        group = 0  # rows taken together so that they are whole float4
        if x.data_ptr() % 16 == 0:
            for candidate in (1, 2, 4):
                if (candidate * inner) % 4 == 0 and length % candidate == 0:
                    group = candidate
                    break
        if group:
            steps, width = length // group, group * inner // 4
        else:
            steps, width = length, inner
        share = (steps + SPLIT - 1) // SPLIT
        splits = (steps + share - 1) // share
        tiles = (width + BLOCK - 1) // BLOCK
        pieces = splits * max(group, 1)
        part = out if pieces == 1 else torch.empty(count * pieces, dtype=x.dtype, device=x.device)
        blocks = outer * splits * tiles
        if group:
            kernels.sum_part_vec[blocks, BLOCK](x, part, steps, width, share, splits, tiles)
        else:
            kernels.sum_part_scalar[blocks, BLOCK](x, part, steps, width, share, splits, tiles)
        if pieces > 1:
            kernels.fold[(count + BLOCK - 1) // BLOCK, BLOCK](part, out, count, inner, pieces)
        return out
