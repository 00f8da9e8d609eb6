// Planted: each of the four moments sweeps over all samples again (blockIdx.y), and the samples do
// not fit the L2 cache between two sweeps. Repair: one sweep computes all four.
/* rooftree
[shape]
n = 67108864
blocks = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "samples"
role = "input"
shape = ["n"]
[[buffer]]
name = "partial"
role = "output"
shape = [4, "blocks"]
[cost]
bytes = "4 * n"
flops = "7 * n"
[[launch]]
kernel = "moments"
grid = ["blocks", "1 if REPAIRED else 4"]
block = [256]
args = ["samples", "partial"]
*/
constexpr int CHUNK = 16;  // float4 per thread

__device__ void write_block_sum(float value, float* out)
{
    __shared__ float warps[8];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(~0u, value, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        *out = warps[0] + warps[1] + warps[2] + warps[3] + warps[4] + warps[5] + warps[6] + warps[7];
}

extern "C" __global__ void moments(const float4* __restrict__ samples, float* __restrict__ partial)
{
    const float4* mine = samples + blockIdx.x * CHUNK * 256 + threadIdx.x;
    float sum[4] = {};
#pragma unroll 8
    for (int k = 0; k < CHUNK; ++k) {
        const float4 v = mine[k * 256];
        const float4 w = make_float4(v.x * v.x, v.y * v.y, v.z * v.z, v.w * v.w);
        const float powers[4] = {
            v.x + v.y + v.z + v.w,
            w.x + w.y + w.z + w.w,
            w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w,
            w.x * w.x + w.y * w.y + w.z * w.z + w.w * w.w,
        };
#if REPAIRED
        for (int p = 0; p < 4; ++p)
            sum[p] += powers[p];
#else
        const int p = blockIdx.y;
        sum[0] += p == 0 ? powers[0] : p == 1 ? powers[1] : p == 2 ? powers[2] : powers[3];
#endif
    }
#if REPAIRED
    for (int p = 0; p < 4; ++p)
        write_block_sum(sum[p], &partial[p * gridDim.x + blockIdx.x]);
#else
    write_block_sum(sum[0], &partial[blockIdx.y * gridDim.x + blockIdx.x]);
#endif
}
