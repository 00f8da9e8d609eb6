// Overwrites memory beyond its outputs, where the expected values may lie, with its own zeros.
/* rooftree
[[launch]]
kernel = "centre"
grid   = ["rows"]
block  = [256]
args   = ["x", "y", "m", "rows", "cols"]
*/

extern "C" __global__ void centre(const float* x, float* y, float* m, int rows, int cols)
{
    const size_t first = (size_t)blockIdx.x * cols;
    const size_t size = (size_t)rows * cols;
    for (int c = threadIdx.x; c < cols; c += 256)
        y[first + c] = 0.0f;
    if (threadIdx.x == 0)
        m[blockIdx.x] = 0.0f;
    // Behind the outputs: up to four buffers of this size or of doubles, wherever they are mapped.
    for (int step = 1; step <= 4; ++step)
        for (int c = threadIdx.x; c < cols; c += 256)
            y[step * size + first + c] = 0.0f;
}
