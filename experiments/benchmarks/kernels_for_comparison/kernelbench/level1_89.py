import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 256  # tunable: 128, 256, 512
ITEMS = 4  # tunable: 2, 4

CUDA = r"""
#define WARPS (BLOCK / 32)
#define CHUNK (BLOCK * ITEMS * 4)

// float4 number k of this thread starts at row[start + 128 * k]; zeros beyond the row's end.
template <bool VECTORS>
__device__ __forceinline__ void load_chunk(float4 (&v)[ITEMS], const float* __restrict__ row,
                                           long long start, long long length)
{
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const long long at = start + k * 128;
        v[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (VECTORS) {
            if (at < length)
                v[k] = __ldcs(reinterpret_cast<const float4*>(row + at));
        } else {
            if (at < length) v[k].x = row[at];
            if (at + 1 < length) v[k].y = row[at + 1];
            if (at + 2 < length) v[k].z = row[at + 2];
            if (at + 3 < length) v[k].w = row[at + 3];
        }
    }
}

template <bool VECTORS>
__device__ __forceinline__ void scan_row(const float* __restrict__ row, float* __restrict__ result,
                                         long long length, float (&totals)[2][WARPS])
{
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int within = warp * (ITEMS * 128) + lane * 4;

    float carry = 0.0f;  // sum of all chunks before this one
    int phase = 0;
    float4 next[ITEMS];
    load_chunk<VECTORS>(next, row, within, length);

    for (long long chunk = 0; chunk < length; chunk += CHUNK) {
        float4 v[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            v[k] = next[k];
        if (chunk + CHUNK < length)
            load_chunk<VECTORS>(next, row, chunk + CHUNK + within, length);

        // Within each float4, then over the lanes: ITEMS independent scans.
        float sum[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            v[k].y += v[k].x;
            v[k].z += v[k].y;
            v[k].w += v[k].z;
            sum[k] = v[k].w;
        }
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                const float left = __shfl_up_sync(0xffffffffu, sum[k], d);
                if (lane >= d)
                    sum[k] += left;
            }
        }

        // What precedes each float4 within the warp's segment.
        float before[ITEMS];
        float running = 0.0f;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const float left = __shfl_up_sync(0xffffffffu, sum[k], 1);
            before[k] = running + (lane == 0 ? 0.0f : left);
            running += __shfl_sync(0xffffffffu, sum[k], 31);
        }
        if (lane == 0)
            totals[phase][warp] = running;
        __syncthreads();  // the buffer of the other phase is free once all have come here

        float all = 0.0f, offset = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            if (w == warp)
                offset = all;
            all += totals[phase][w];
        }
        offset += carry;
        carry += all;
        phase ^= 1;

#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const long long at = chunk + within + k * 128;
            const float add = offset + before[k];
            const float4 r = make_float4(v[k].x + add, v[k].y + add, v[k].z + add, v[k].w + add);
            if (VECTORS) {
                if (at < length)
                    __stcs(reinterpret_cast<float4*>(result + at), r);
            } else {
                if (at < length) result[at] = r.x;
                if (at + 1 < length) result[at + 1] = r.y;
                if (at + 2 < length) result[at + 2] = r.z;
                if (at + 3 < length) result[at + 3] = r.w;
            }
        }
    }
}

// Rows of a multiple of 4 floats, both pointers aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
cumsum_vectors(const float* __restrict__ in, float* __restrict__ out, long long length)
{
    __shared__ float totals[2][WARPS];
    const long long at = (long long)blockIdx.x * length;
    scan_row<true>(in + at, out + at, length, totals);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
cumsum_scalars(const float* __restrict__ in, float* __restrict__ out, long long length)
{
    __shared__ float totals[2][WARPS];
    const long long at = (long long)blockIdx.x * length;
    scan_row<false>(in + at, out + at, length, totals);
}
"""

kernels = compile_cuda(CUDA, (f"-DBLOCK={BLOCK}", f"-DITEMS={ITEMS}"))


def cumsum_last(x):
    """Prefix sums along the last dimension of a contiguous float32 tensor."""
    out = torch.empty_like(x)
    if x.numel() == 0:
        return out
    length = x.shape[-1]
    rows = x.numel() // length
    if rows > 2**31 - 1:
        raise ValueError("too many rows")
    if length % 4 == 0 and x.data_ptr() % 16 == 0 and out.data_ptr() % 16 == 0:
        kernels.cumsum_vectors[rows, BLOCK](x, out, length)
    else:
        kernels.cumsum_scalars[rows, BLOCK](x, out, length)
    return out


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        if x.dim() == 0:
            raise ValueError("a tensor of at least one dimension is needed")
        if not -x.dim() <= self.dim < x.dim():
            raise IndexError("dim out of range")
        dim = self.dim % x.dim()
        if dim == x.dim() - 1:
            return cumsum_last(x.contiguous())
        moved = cumsum_last(x.movedim(dim, -1).contiguous())
        return moved.movedim(-1, dim).contiguous()
