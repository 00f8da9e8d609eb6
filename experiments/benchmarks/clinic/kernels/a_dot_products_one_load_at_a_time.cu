// Planted: two warps per multiprocessor sum long rows with one load in flight each, the next only
// after its sum. Repair: sixteen independent loads at a time from as many warps as fit.
/* rooftree
[shape]
rows = 1056
cols = 65536
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "y"
role = "output"
shape = ["rows", 128]
[cost]
bytes = "4 * rows * cols"
flops = "rows * cols"
[[launch]]
kernel = "row_sums"
grid = ["rows", "16 if REPAIRED else 1"]
block = ["256 if REPAIRED else 32"]
args = ["x", "y", "cols"]
*/
extern "C" __global__ void row_sums(const float4* __restrict__ x, float* y, int cols)
{
    const int share = cols / 4 / gridDim.y;
    const float4* mine = x + blockIdx.x * (cols / 4) + blockIdx.y * share;
    float sum = 0.0f;
#if REPAIRED
#pragma unroll 4
#else
#pragma unroll 1
#endif
    for (int i = threadIdx.x; i < share; i += blockDim.x)
        sum += mine[i].x + mine[i].y + mine[i].z + mine[i].w;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        y[blockIdx.x * 128 + blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32] = sum;
}
