// Planted: a transpose through a 32 x 32 tile whose columns lie in one bank. Repair: one float of
// padding per row.
/* rooftree
[shape]
n = 8192
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n", "n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n", "n"]
[cost]
bytes = "8 * n * n"
flops = "0 * n"
[[launch]]
kernel = "transpose"
grid = ["n // 32", "n // 32"]
block = [32, 8]
args = ["x", "y", "n"]
*/
extern "C" __global__ void transpose(const float* __restrict__ x, float* y, int n)
{
    __shared__ float tile[32][32 + REPAIRED];
    const int row = blockIdx.y * 32, col = blockIdx.x * 32;
#pragma unroll
    for (int k = 0; k < 32; k += 8)
        tile[threadIdx.y + k][threadIdx.x] = x[(row + threadIdx.y + k) * n + col + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; k += 8)
        y[(col + threadIdx.y + k) * n + row + threadIdx.x] = tile[threadIdx.x][threadIdx.y + k];
}
