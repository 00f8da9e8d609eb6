// Means into a workspace first, then the rest from there: two launches.
/* rooftree
[[workspace]]
name = "mean"
size = "rows"

[[launch]]
kernel = "means"
grid   = ["rows"]
block  = [256]
args   = ["x", "mean", "m", "cols"]

[[launch]]
kernel = "take_off"
grid   = ["ceil_div(cols, 256)", "rows"]
block  = [256]
args   = ["x", "mean", "y", "cols"]
*/

__device__ float row_mean(const float* in, int cols)
{
    __shared__ float part[8];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += in[c];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < 8; ++w)
        sum += part[w];
    return sum / cols;
}

extern "C" __global__ void means(const float* x, float* mean, float* m, int cols)
{
    const float found = row_mean(x + (size_t)blockIdx.x * cols, cols);
    if (threadIdx.x == 0)
        m[blockIdx.x] = mean[blockIdx.x] = found;
}

extern "C" __global__ void take_off(const float* x, const float* mean, float* y, int cols)
{
    const int c = blockIdx.x * 256 + threadIdx.x;
    const size_t at = (size_t)blockIdx.y * cols + c;
    if (c < cols)
        y[at] = x[at] - mean[blockIdx.y];
}
