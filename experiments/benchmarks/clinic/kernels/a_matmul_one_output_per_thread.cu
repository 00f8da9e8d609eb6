// Planted: each thread computes one output of a matrix product straight from global memory: two
// loads for every multiply-add. Repair: tiles in shared memory and 8 x 8 outputs per thread in
// registers.
/* rooftree
[shape]
n = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "a"
role = "input"
shape = ["n", "n"]
[[buffer]]
name = "b"
role = "input"
shape = ["n", "n"]
[[buffer]]
name = "c"
role = "output"
shape = ["n", "n"]
[cost]
bytes = "12 * n * n"
flops = "2 * n * n * n"
[[launch]]
kernel = "matmul"
grid = ["n // 128 if REPAIRED else n // 16", "n // 128 if REPAIRED else n // 16"]
block = ["256 if REPAIRED else 16", "1 if REPAIRED else 16"]
args = ["a", "b", "c", "n"]
*/
#if REPAIRED
extern "C" __global__ void __launch_bounds__(256) matmul(const float* __restrict__ a,
    const float* __restrict__ b, float* __restrict__ c, int n)
{
    __shared__ __align__(16) float at[2][8][128 + 4], bt[2][8][128];
    const int row = blockIdx.y * 128, col = blockIdx.x * 128, t = threadIdx.x;
    const int ty = t / 16 * 4, tx = t % 16 * 4, ar = t / 2, ac = t % 2 * 4, br = t / 32, bc = t % 32 * 4;
    float sums[8][8] = {};
    float4 next_a = *(const float4*)&a[(row + ar) * n + ac];
    float4 next_b = *(const float4*)&b[br * n + col + bc];
    for (int base = 0, now = 0; base < n; base += 8, now ^= 1) {
        at[now][ac][ar] = next_a.x, at[now][ac + 1][ar] = next_a.y;
        at[now][ac + 2][ar] = next_a.z, at[now][ac + 3][ar] = next_a.w;
        *(float4*)&bt[now][br][bc] = next_b;
        __syncthreads();
        if (base + 8 < n) {
            next_a = *(const float4*)&a[(row + ar) * n + base + 8 + ac];
            next_b = *(const float4*)&b[(base + 8 + br) * n + col + bc];
        }
#pragma unroll
        for (int s = 0; s < 8; ++s) {
            float u[8], v[8];
            *(float4*)u = *(float4*)&at[now][s][ty];
            *(float4*)(u + 4) = *(float4*)&at[now][s][ty + 64];
            *(float4*)v = *(float4*)&bt[now][s][tx];
            *(float4*)(v + 4) = *(float4*)&bt[now][s][tx + 64];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    sums[i][j] += u[i] * v[j];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *(float4*)&c[(row + ty + i % 4 + i / 4 * 64) * n + col + tx + j * 16] =
                make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
}
#else
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n)
{
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
#endif
