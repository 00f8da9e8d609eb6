// Planted: tiles of 256 x 176 make 144 blocks, one per multiprocessor by their registers, so that 12
// tiles take a second wave. Repair: tiles of 256 x 192 make exactly 132.
/* rooftree
[shape]
m = 3072
n = 2112
k = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "tokens"
role = "input"
shape = ["k", "m"]
[[buffer]]
name = "weights"
role = "input"
shape = ["k", "n"]
[[buffer]]
name = "projected"
role = "output"
shape = ["m", "n"]
[cost]
bytes = "4 * (m * k + n * k + m * n)"
flops = "2 * m * n * k"
[[launch]]
kernel = "project"
grid = ["n // 192 if REPAIRED else n // 176", "m // 256"]
block = [256]
args = ["tokens", "weights", "projected", "m", "n", "k"]
*/
constexpr int ROWS = 16, COLUMNS = REPAIRED ? 12 : 11, DEPTH = 16;  // ROWS x COLUMNS per thread
constexpr int WIDTH = 16 * COLUMNS, HEIGHT = 16 * ROWS;

extern "C" __global__ void __launch_bounds__(256, 1) project(const float* __restrict__ tokens,
    const float* __restrict__ weights, float* __restrict__ projected, int m, int n, int k)
{
    __shared__ float4 a[DEPTH][HEIGHT / 4], b[DEPTH][WIDTH / 4];
    const int row = blockIdx.y * HEIGHT, column = blockIdx.x * WIDTH;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[ROWS][COLUMNS] = {};
    for (int base = 0; base < k; base += DEPTH) {
        for (int e = threadIdx.x; e < DEPTH * HEIGHT / 4; e += 256)
            a[0][e] = *(const float4*)&tokens[(base + e / (HEIGHT / 4)) * m + row + e % (HEIGHT / 4) * 4];
        for (int e = threadIdx.x; e < DEPTH * WIDTH / 4; e += 256)
            b[0][e] = *(const float4*)&weights[(base + e / (WIDTH / 4)) * n + column + e % (WIDTH / 4) * 4];
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < DEPTH; ++d)
#pragma unroll
            for (int r = 0; r < ROWS; r += 4) {
                const float4 left = a[d][ty * (ROWS / 4) + r / 4];
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c) {
                    const float right = ((const float*)b[d])[c * 16 + tx];
                    sum[r][c] += left.x * right, sum[r + 1][c] += left.y * right;
                    sum[r + 2][c] += left.z * right, sum[r + 3][c] += left.w * right;
                }
            }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c)
            projected[(row + ty * ROWS + r) * n + column + c * 16 + tx] = sum[r][c];
}
