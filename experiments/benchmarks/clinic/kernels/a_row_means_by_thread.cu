// Planted: a thread per row adds up that row of a row-major matrix, so that neighbouring lanes read
// addresses a row apart. Repair: a warp per row, lanes side by side.
/* rooftree
[shape]
rows = 65536
cols = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "mean"
role = "output"
shape = ["rows"]
[cost]
bytes = "4 * rows * cols"
flops = "rows * cols"
[[launch]]
kernel = "row_means"
grid = ["rows // 8 if REPAIRED else rows // 256"]
block = [256]
args = ["x", "mean", "cols"]
*/
extern "C" __global__ void row_means(const float* __restrict__ x, float* mean, int cols)
{
#if REPAIRED
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4* mine = (const float4*)(x + (long long)row * cols);
    float sum = 0.0f;
#pragma unroll 4
    for (int c = lane; c < cols / 4; c += 32)
        sum += mine[c].x + mine[c].y + mine[c].z + mine[c].w;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        mean[row] = sum / cols;
#else
    const int row = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c)
        sum += x[(long long)row * cols + c];
    mean[row] = sum / cols;
#endif
}
