import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 512  # tunable: 256, 512
CHUNKS = 128  # tunable: 64, 128, 256
APPLY_BLOCK = 256  # tunable: 128, 256, 512
GROUP = 16  # rows per thread of the last kernel

CUDA = r"""
__device__ __forceinline__ double warp_sum(double a)
{
#pragma unroll
    for (int gap = 16; gap > 0; gap /= 2)
        a += __shfl_xor_sync(0xffffffffu, a, gap);
    return a;
}

// the sum over the block, valid in thread 0; shared: two doubles per warp
__device__ __forceinline__ double2 block_sum(double sum, double square, double2* shared)
{
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    sum = warp_sum(sum);
    square = warp_sum(square);
    if (lane == 0)
        shared[warp] = make_double2(sum, square);
    __syncthreads();
    double2 total = make_double2(0.0, 0.0);
    if (warp == 0) {
        if (lane < blockDim.x / 32)
            total = shared[lane];
        total.x = warp_sum(total.x);
        total.y = warp_sum(total.y);
    }
    return total;
}

__device__ __forceinline__ float deviation(float4 v, float mean)
{
    const float a = v.x - mean, b = v.y - mean, c = v.z - mean, d = v.w - mean;
    return fmaf(a, a, b * b) + fmaf(c, c, d * d);
}

// part: (rows, chunks) of sum and sum of squares
extern "C" __global__ void __launch_bounds__(BLOCK)
moments_vec(const float4* __restrict__ x, double2* __restrict__ part, int rows, int chunks, long long columns4,
            long long share)
{
    __shared__ double2 shared[32];
    const int chunk = blockIdx.x / rows;
    const int row = blockIdx.x - chunk * rows;
    const long long begin = chunk * share;
    const long long end = begin + share < columns4 ? begin + share : columns4;
    const float4* __restrict__ src = x + row * columns4;
    double sum = 0.0, square = 0.0;
    long long i = begin + threadIdx.x;
    for (; i + 3 * BLOCK < end; i += 4 * BLOCK) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; ++u)
            v[u] = src[i + u * BLOCK];
        float s[4];
#pragma unroll
        for (int u = 0; u < 4; ++u)
            s[u] = (v[u].x + v[u].y) + (v[u].z + v[u].w);
        const float total = (s[0] + s[1]) + (s[2] + s[3]);
        const float mean = total * 0.0625f;
        float d[4];
#pragma unroll
        for (int u = 0; u < 4; ++u)
            d[u] = deviation(v[u], mean);
        sum += (double)total;
        square += (double)((d[0] + d[1]) + (d[2] + d[3])) + (double)total * (double)total * 0.0625;
    }
    for (; i < end; i += BLOCK) {
        const float4 v = src[i];
        const float total = (v.x + v.y) + (v.z + v.w);
        sum += (double)total;
        square += (double)deviation(v, total * 0.25f) + (double)total * (double)total * 0.25;
    }
    const double2 all = block_sum(sum, square, shared);
    if (threadIdx.x == 0)
        part[(long long)row * chunks + chunk] = all;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
moments_scalar(const float* __restrict__ x, double2* __restrict__ part, int rows, int chunks, long long columns,
               long long share)
{
    __shared__ double2 shared[32];
    const int chunk = blockIdx.x / rows;
    const int row = blockIdx.x - chunk * rows;
    const long long begin = chunk * share;
    const long long end = begin + share < columns ? begin + share : columns;
    const float* __restrict__ src = x + row * columns;
    double sum = 0.0, square = 0.0;
#pragma unroll 4
    for (long long i = begin + threadIdx.x; i < end; i += BLOCK) {
        const double v = (double)src[i];
        sum += v;
        square += v * v;
    }
    const double2 all = block_sum(sum, square, shared);
    if (threadIdx.x == 0)
        part[(long long)row * chunks + chunk] = all;
}

// stats: (rows) of mean and 1 / standard deviation
extern "C" __global__ void __launch_bounds__(128)
finish(const double2* __restrict__ part, float2* __restrict__ stats, int chunks, double columns, double eps)
{
    __shared__ double2 shared[32];
    double sum = 0.0, square = 0.0;
    for (int i = threadIdx.x; i < chunks; i += 128) {
        const double2 p = part[(long long)blockIdx.x * chunks + i];
        sum += p.x;
        square += p.y;
    }
    const double2 all = block_sum(sum, square, shared);
    if (threadIdx.x == 0) {
        const double mean = all.x / columns;
        double variance = all.y / columns - mean * mean;
        variance = variance < 0.0 ? 0.0 : variance;
        stats[blockIdx.x] = make_float2((float)mean, (float)(1.0 / sqrt(variance + eps)));
    }
}

__device__ __forceinline__ float affine(float v, float2 s, float w, float b)
{
    return fmaf((v - s.x) * s.y, w, b);
}
__device__ __forceinline__ float4 affine(float4 v, float2 s, float4 w, float4 b)
{
    return make_float4(affine(v.x, s, w.x, b.x), affine(v.y, s, w.y, b.y),
                       affine(v.z, s, w.z, b.z), affine(v.w, s, w.w, b.w));
}

template <typename T>
__device__ __forceinline__ void normalize(const T* __restrict__ x, const float2* __restrict__ stats,
                                          const T* __restrict__ weight, const T* __restrict__ bias,
                                          T* __restrict__ out, int rows, long long columns)
{
    const long long column = (long long)(gridDim.x - 1 - blockIdx.x) * APPLY_BLOCK + threadIdx.x;
    if (column >= columns)
        return;
    const T w = __ldcs(weight + column);
    const T b = __ldcs(bias + column);
    for (int group = blockIdx.y * GROUP; group < rows; group += gridDim.y * GROUP) {
        const int last = min(group + GROUP, rows);
        int row = group;
        for (; row + 4 <= last; row += 4) {
            T v[4];
            float2 s[4];
#pragma unroll
            for (int u = 0; u < 4; ++u)
                v[u] = __ldcs(x + (row + u) * columns + column);
#pragma unroll
            for (int u = 0; u < 4; ++u)
                s[u] = __ldg(stats + row + u);
#pragma unroll
            for (int u = 0; u < 4; ++u)
                __stcs(out + (row + u) * columns + column, affine(v[u], s[u], w, b));
        }
        for (; row < last; ++row)
            __stcs(out + row * columns + column,
                   affine(__ldcs(x + row * columns + column), __ldg(stats + row), w, b));
    }
}

extern "C" __global__ void __launch_bounds__(APPLY_BLOCK)
normalize_vec(const float4* __restrict__ x, const float2* __restrict__ stats, const float4* __restrict__ weight,
              const float4* __restrict__ bias, float4* __restrict__ out, int rows, long long columns)
{
    normalize<float4>(x, stats, weight, bias, out, rows, columns);
}

extern "C" __global__ void __launch_bounds__(APPLY_BLOCK)
normalize_scalar(const float* __restrict__ x, const float2* __restrict__ stats, const float* __restrict__ weight,
                 const float* __restrict__ bias, float* __restrict__ out, int rows, long long columns)
{
    normalize<float>(x, stats, weight, bias, out, rows, columns);
}
"""

kernels = compile_cuda(CUDA, options=(f"-DBLOCK={BLOCK}", f"-DAPPLY_BLOCK={APPLY_BLOCK}", f"-DGROUP={GROUP}"))


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        weight, bias = self.ln.weight, self.ln.bias
        if x.dtype != torch.float32 or weight.dtype != torch.float32 or bias.dtype != torch.float32:
            raise TypeError("only float32 is supported")
        normalized = tuple(self.ln.normalized_shape)
        if len(normalized) == 0 or tuple(x.shape[-len(normalized):]) != normalized:
            raise ValueError("the last dimensions of x are not normalized_shape")
        x = x.contiguous()
        weight = weight.contiguous()
        bias = bias.contiguous()
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if x.numel() == 0:
            return out
        columns = weight.numel()
        rows = x.numel() // columns
        vector = columns % 4 == 0 and all(t.data_ptr() % 16 == 0 for t in (x, weight, bias, out))
        items = columns // 4 if vector else columns
        share = max((items + CHUNKS - 1) // CHUNKS, 4 * BLOCK)
        share = (share + 4 * BLOCK - 1) // (4 * BLOCK) * (4 * BLOCK)
        chunks = (items + share - 1) // share
        part = torch.empty(rows * chunks * 2, dtype=torch.float64, device=x.device)
        stats = torch.empty(rows * 2, dtype=torch.float32, device=x.device)
        tiles = (items + APPLY_BLOCK - 1) // APPLY_BLOCK
        groups = min((rows + GROUP - 1) // GROUP, 65535)
        if vector:
            kernels.moments_vec[rows * chunks, BLOCK](x, part, rows, chunks, items, share)
        else:
            kernels.moments_scalar[rows * chunks, BLOCK](x, part, rows, chunks, items, share)
        kernels.finish[rows, 128](part, stats, chunks, float(columns), float(self.ln.eps))
        if vector:
            kernels.normalize_vec[(tiles, groups), APPLY_BLOCK](x, stats, weight, bias, out, rows, items)
        else:
            kernels.normalize_scalar[(tiles, groups), APPLY_BLOCK](x, stats, weight, bias, out, rows, items)
        return out
