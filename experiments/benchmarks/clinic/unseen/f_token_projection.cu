// Planted: a linear layer in half precision, well tiled, but multiplied by the ordinary fp32 units.
// Repair: the same tiles on the tensor cores (wmma), fp32 sums, copied asynchronously.
/* rooftree
[shape]
tokens = 4096
inner = 2048
outer = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
dtype = "float16"
shape = ["tokens", "inner"]
[[buffer]]
name = "w"
role = "input"
dtype = "float16"
shape = ["outer", "inner"]
[[buffer]]
name = "y"
role = "output"
shape = ["tokens", "outer"]
[cost]
bytes = "2 * tokens * inner + 2 * outer * inner + 4 * tokens * outer"
flops = "2 * tokens * inner * outer"
math = "fp16"
[[launch]]
kernel = "project"
grid = ["outer // 128", "tokens // 128"]
block = [256]
args = ["x", "w", "y", "inner", "outer"]
*/
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#if REPAIRED
using namespace nvcuda::wmma;
using Tile = __half[128][32 + 8];

__device__ __forceinline__ void fetch(Tile& tile, const __half* from, int pitch)
{
#pragma unroll
    for (int i = threadIdx.x; i < 512; i += 256)
        __pipeline_memcpy_async(&tile[i / 4][i % 4 * 8], &from[i / 4 * pitch + i % 4 * 8], 16);
}

extern "C" __global__ void __launch_bounds__(256, 2) project(const __half* __restrict__ x,
    const __half* __restrict__ w, float* __restrict__ y, int inner, int outer)
{
    __shared__ __align__(128) Tile xs[2], ws[2];
    const int row = blockIdx.y * 128, col = blockIdx.x * 128, warp = threadIdx.x / 32;
    const int wr = warp / 4 * 64, wc = warp % 4 * 32;
    fragment<accumulator, 16, 16, 16, float> sums[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) fill_fragment(sums[i], 0.0f);
    fetch(xs[0], &x[row * inner], inner), fetch(ws[0], &w[col * inner], inner);
    __pipeline_commit();
    for (int base = 0, now = 0; base < inner; base += 32, now ^= 1) {
        if (base + 32 < inner) {
            fetch(xs[now ^ 1], &x[row * inner + base + 32], inner);
            fetch(ws[now ^ 1], &w[col * inner + base + 32], inner);
        }
        __pipeline_commit(), __pipeline_wait_prior(1);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 32; s += 16) {
            fragment<matrix_a, 16, 16, 16, __half, row_major> a[4];
            fragment<matrix_b, 16, 16, 16, __half, col_major> b[2];
#pragma unroll
            for (int i = 0; i < 4; ++i) load_matrix_sync(a[i], &xs[now][wr + i * 16][s], 40);
            load_matrix_sync(b[0], &ws[now][wc][s], 40), load_matrix_sync(b[1], &ws[now][wc + 16][s], 40);
#pragma unroll
            for (int i = 0; i < 8; ++i) mma_sync(sums[i], a[i / 2], b[i % 2], sums[i]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
        store_matrix_sync(&y[(row + wr + i / 2 * 16) * outer + col + wc + i % 2 * 16], sums[i], outer, mem_row_major);
}
#else
__device__ __forceinline__ void stage(float (&tile)[8][132], int line, int part, uint2 raw)
{
    const float2 low = __half22float2(*(const __half2*)&raw.x), high = __half22float2(*(const __half2*)&raw.y);
    tile[part][line] = low.x, tile[part + 1][line] = low.y;
    tile[part + 2][line] = high.x, tile[part + 3][line] = high.y;
}

extern "C" __global__ void __launch_bounds__(256, 2) project(const __half* __restrict__ x,
    const __half* __restrict__ w, float* __restrict__ y, int inner, int outer)
{
    __shared__ __align__(16) float xs[2][8][132], ws[2][8][132];
    const int row = blockIdx.y * 128, col = blockIdx.x * 128, t = threadIdx.x;
    const int ty = t / 16 * 4, tx = t % 16 * 4, line = t / 2, part = t % 2 * 4;
    const __half *from_x = &x[(row + line) * inner + part], *from_w = &w[(col + line) * inner + part];
    float sums[64] = {};
    uint2 next_x = *(const uint2*)from_x, next_w = *(const uint2*)from_w;
    for (int base = 0, now = 0; base < inner; base += 8, now ^= 1) {
        stage(xs[now], line, part, next_x);
        stage(ws[now], line, part, next_w);
        __syncthreads();
        if (base + 8 < inner)
            next_x = *(const uint2*)(from_x + base + 8), next_w = *(const uint2*)(from_w + base + 8);
#pragma unroll
        for (int s = 0; s < 8; ++s) {
            float u[8], v[8];
            *(float4*)u = *(float4*)&xs[now][s][ty], *(float4*)(u + 4) = *(float4*)&xs[now][s][ty + 64];
            *(float4*)v = *(float4*)&ws[now][s][tx], *(float4*)(v + 4) = *(float4*)&ws[now][s][tx + 64];
#pragma unroll
            for (int k = 0; k < 64; ++k) sums[k] += u[k / 8] * v[k % 8];
        }
    }
#pragma unroll
    for (int k = 0; k < 64; k += 4)
        *(float4*)&y[(row + ty + k / 8 % 4 + k / 32 * 64) * outer + col + tx + k % 8 * 16] =
            make_float4(sums[k], sums[k + 1], sums[k + 2], sums[k + 3]);
}
#endif
