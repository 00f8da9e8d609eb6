// Adds into shared memory that was never set to zero.
/* rooftree
[[launch]]
kernel = "centre"
grid   = ["rows"]
block  = [256]
args   = ["x", "y", "m", "rows", "cols"]
*/

__device__ float row_mean(const float* in, int cols)
{
    __shared__ float total;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += in[c];
    atomicAdd(&total, sum);
    __syncthreads();
    return total / cols;
}

extern "C" __global__ void centre(const float* x, float* y, float* m, int rows, int cols)
{
    const size_t first = (size_t)blockIdx.x * cols;
    const float mean = row_mean(x + first, cols);
    for (int c = threadIdx.x; c < cols; c += 256)
        y[first + c] = x[first + c] - mean;
    if (threadIdx.x == 0)
        m[blockIdx.x] = mean;
}
