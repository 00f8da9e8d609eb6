// Planted: 8 warps per multiprocessor sum long rows, and each thread has one load in flight: the
// next is asked for only after the last has arrived. Repair: 16 loads asked for at a time.
/* rooftree
[shape]
rows = 264
cols = 262144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "y"
role = "output"
shape = ["rows", 4]
[cost]
bytes = "4 * rows * cols"
flops = "rows * cols"
[[launch]]
kernel = "row_sums"
grid = ["rows"]
block = [128]
args = ["x", "y", "cols"]
*/
extern "C" __global__ void row_sums(const float4* __restrict__ x, float* y, int cols)
{
    constexpr int AT_ONCE = REPAIRED ? 16 : 1;
    const float4* row = x + blockIdx.x * (cols / 4);
    float sum = 0.0f;
#pragma unroll 1
    for (int i = threadIdx.x; i < cols / 4; i += 128 * AT_ONCE) {
        float4 v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k)
            v[k] = row[i + k * 128];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k)
            sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        y[blockIdx.x * 4 + threadIdx.x / 32] = sum;
}
