// Planted: a block of 1024 threads merges partial variances in a shared-memory tree, ten levels
// with a barrier each. Repair: one warp per row, sums in registers and shuffles, no barrier.
/* rooftree
[shape]
rows = 65536
width = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["rows", "width"]
[[buffer]]
name = "variance"
role = "output"
shape = ["rows"]
[cost]
bytes = "4 * rows * width"
flops = "3 * rows * width"
[[launch]]
kernel = "row_variance"
grid = ["rows // 8 if REPAIRED else rows"]
block = ["256 if REPAIRED else 1024"]
args = ["x", "variance"]
*/
constexpr int WIDTH = 1024;

#if REPAIRED
__device__ float warp_sum(float value)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(~0u, value, d);
    return value;
}

extern "C" __global__ void row_variance(const float4* __restrict__ x, float* __restrict__ variance)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float4 v[8];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        v[k] = x[row * (WIDTH / 4) + k * 32 + lane];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
    const float mean = warp_sum(sum) / WIDTH;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        squares += (v[k].x - mean) * (v[k].x - mean) + (v[k].y - mean) * (v[k].y - mean)
            + (v[k].z - mean) * (v[k].z - mean) + (v[k].w - mean) * (v[k].w - mean);
    squares = warp_sum(squares);
    if (lane == 0)
        variance[row] = squares / WIDTH;
}
#else
extern "C" __global__ void __launch_bounds__(1024, 2) row_variance(
    const float* __restrict__ x, float* __restrict__ variance)
{
    __shared__ float mean[WIDTH], squares[WIDTH];
    const int t = threadIdx.x;
    mean[t] = x[blockIdx.x * WIDTH + t];
    squares[t] = 0.0f;
    __syncthreads();
    float count = 1.0f;  // values behind each partial result
    for (int half = WIDTH / 2; half > 0; half /= 2, count *= 2.0f) {
        if (t < half) {
            const float gap = mean[t + half] - mean[t];
            mean[t] += 0.5f * gap;
            squares[t] += squares[t + half] + gap * gap * 0.5f * count;
        }
        __syncthreads();
    }
    if (t == 0)
        variance[blockIdx.x] = squares[0] / WIDTH;
}
#endif
