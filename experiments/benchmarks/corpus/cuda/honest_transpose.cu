// A tile in shared memory, padded.
/* rooftree
[[launch]]
kernel = "transpose"
grid   = ["ceil_div(cols, 32)", "ceil_div(rows, 32)"]
block  = [32, 8]
args   = ["x", "y", "rows", "cols"]
*/

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols)
{
    __shared__ float tile[32][33];
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.x;
    for (int i = threadIdx.y; i < 32; i += 8)
        if (c < cols && blockIdx.y * 32 + i < rows)
            tile[i][threadIdx.x] = x[(size_t)(blockIdx.y * 32 + i) * cols + c];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        if (r < rows && blockIdx.x * 32 + i < cols)
            y[(size_t)(blockIdx.x * 32 + i) * rows + r] = tile[threadIdx.x][i];
}
