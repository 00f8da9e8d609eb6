// Planted: 16 blocks for 132 multiprocessors. Repair: 4096 shorter blocks.
/* rooftree
[shape]
n = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "y"
role = "input"
shape = ["n"]
[[buffer]]
name = "partial"
role = "output"
shape = [4096]
[cost]
bytes = "8 * n"
flops = "2 * n"
[[launch]]
kernel = "dot_product"
grid = ["4096 if REPAIRED else 16"]
block = [256]
args = ["x", "y", "partial", "n // 4 // (4096 if REPAIRED else 16)"]
*/
extern "C" __global__ void __launch_bounds__(256, 8) dot_product(
    const float4* __restrict__ x, const float4* __restrict__ y,
    float* __restrict__ partial, int quads_per_block)
{
    __shared__ float warps[8];
    x += blockIdx.x * quads_per_block;
    y += blockIdx.x * quads_per_block;
    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < quads_per_block; i += 256) {
        const float4 a = x[i], b = y[i];
        sum += a.x * b.x;
        sum += a.y * b.y;
        sum += a.z * b.z;
        sum += a.w * b.w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        partial[blockIdx.x] =
            warps[0] + warps[1] + warps[2] + warps[3] + warps[4] + warps[5] + warps[6] + warps[7];
}
