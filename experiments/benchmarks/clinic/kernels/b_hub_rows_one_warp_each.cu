// Planted: one warp per row, but the first of every 32 rows is 128 times as long, so that 31 warps
// leave early and their block waits for one. Repair: all warps of the block share the long row.
/* rooftree
[shape]
blocks = 3276
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "values"
role = "input"
shape = ["blocks * (16384 + 31 * 128)"]
[[buffer]]
name = "norms"
role = "output"
shape = ["blocks", 32]
[cost]
bytes = "4 * blocks * (16384 + 31 * 128)"
flops = "2 * blocks * (16384 + 31 * 128)"
[[launch]]
kernel = "row_norms"
grid = ["blocks"]
block = [1024]
args = ["values", "norms"]
*/
constexpr int HUB = 16384 / 4, LEAF = 128 / 4;  // row lengths in float4

__device__ float squares(float4 v) { return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }

__device__ float warp_sum(float value)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(~0u, value, d);
    return value;
}

extern "C" __global__ void __launch_bounds__(1024) row_norms(
    const float4* __restrict__ values, float* __restrict__ norms)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    values += blockIdx.x * (HUB + 31 * LEAF);
    norms += blockIdx.x * 32;
#if REPAIRED
    __shared__ float part[32];
    float hub = 0.0f, leaf = 0.0f;
#pragma unroll
    for (int k = 0; k < HUB / 1024; ++k)
        hub += squares(values[k * 1024 + threadIdx.x]);
    if (warp > 0)
        leaf = squares(values[HUB + (warp - 1) * LEAF + lane]);
    leaf = warp_sum(leaf);
    if (warp > 0 && lane == 0)
        norms[warp] = sqrtf(leaf);
    hub = warp_sum(hub);
    if (lane == 0)
        part[warp] = hub;
    __syncthreads();
    if (warp > 0)
        return;
    hub = warp_sum(part[lane]);
    if (lane == 0)
        norms[0] = sqrtf(hub);
#else
    const int first = warp == 0 ? 0 : HUB + (warp - 1) * LEAF, length = warp == 0 ? HUB : LEAF;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = lane; k < length; k += 32)
        sum += squares(values[first + k]);
    sum = warp_sum(sum);
    if (lane == 0)
        norms[warp] = sqrtf(sum);
#endif
}
