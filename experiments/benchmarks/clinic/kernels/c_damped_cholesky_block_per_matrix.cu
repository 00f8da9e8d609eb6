// Planted: 1024 threads factor one 32 x 32 matrix and all wait at two barriers for each of the 32 pivots.
// Repair: one warp per matrix, a column per lane, pivot rows pass by shuffles.
/* rooftree
[shape]
matrices = 32768
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "normal"
role = "input"
fill = "uniform"
shape = ["matrices", 32, 32]
[[buffer]]
name = "factor"
role = "output"
shape = ["matrices", 32, 32]
[cost]
bytes = "8192 * matrices"
flops = "11000 * matrices"
[[launch]]
kernel = "cholesky"
grid = ["matrices // (1 + 7 * REPAIRED)"]
block = ["1024 - 768 * REPAIRED"]
args = ["normal", "factor"]
*/
#define DAMPING 16.0f  // keeps the upper triangle that we read positive definite

extern "C" __global__ void cholesky(const float* normal, float* factor)
{
    const int column = threadIdx.x % 32, warp = threadIdx.x / 32;
#if REPAIRED
    const size_t base = ((size_t)blockIdx.x * 8 + warp) * 1024 + column;
    float a[32];
#pragma unroll
    for (int row = 0; row < 32; ++row)
        a[row] = normal[base + row * 32] + (row == column ? DAMPING : 0.0f);
#pragma unroll
    for (int pivot = 0; pivot < 32; ++pivot) {
        a[pivot] *= rsqrtf(__shfl_sync(~0u, a[pivot], pivot));
#pragma unroll
        for (int row = pivot + 1; row < 32; ++row)
            a[row] -= __shfl_sync(~0u, a[pivot], row) * a[pivot];
    }
#pragma unroll
    for (int row = 0; row < 32; ++row) factor[base + row * 32] = row <= column ? a[row] : 0.0f;
#else
    __shared__ float pivot_row[32];
    const size_t at = (size_t)blockIdx.x * 1024 + threadIdx.x;
    float a = normal[at] + (warp == column ? DAMPING : 0.0f);
    for (int pivot = 0; pivot < 32; ++pivot) {
        if (warp == pivot) {
            a *= rsqrtf(__shfl_sync(~0u, a, pivot));
            pivot_row[column] = a;
        }
        __syncthreads();
        if (warp > pivot) a -= pivot_row[warp] * pivot_row[column];
        __syncthreads();
    }
    factor[at] = warp <= column ? a : 0.0f;
#endif
}
