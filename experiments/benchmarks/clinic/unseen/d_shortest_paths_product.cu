// Planted: one output per thread, so that every add and minimum costs two loads from shared memory
// (one broadcast, one of 32 neighbours: no bank conflicts). Repair: 4 x 4 outputs per thread in
// registers, two wide loads from shared memory for 16 adds and minima.
/* rooftree
[shape]
n = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "head"
role = "input"
shape = ["n", "n"]
[[buffer]]
name = "tail"
role = "input"
shape = ["n", "n"]
[[buffer]]
name = "best"
role = "output"
shape = ["n", "n"]
[cost]
bytes = "12 * n * n"
flops = "2 * n * n * n"
[[launch]]
kernel = "min_plus"
grid = ["n // 64 if REPAIRED else n // 32", "n // 64 if REPAIRED else n // 32"]
block = ["16 if REPAIRED else 32", "16 if REPAIRED else 32"]
args = ["head", "tail", "best", "n"]
*/

// Min-plus product of two distance matrices: the shortest way from i to j over one stop k, the step
// that is repeated for all-pairs shortest paths.
#if REPAIRED
extern "C" __global__ void __launch_bounds__(256) min_plus(const float* __restrict__ head,
    const float* __restrict__ tail, float* __restrict__ best, int nodes)
{
    __shared__ __align__(16) float from[16][64 + 4], to[16][64];
    const int t = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.y * 64, col = blockIdx.x * 64;
    const int y = threadIdx.y * 4, x = threadIdx.x * 4;
    float d[4][4];
#pragma unroll
    for (int i = 0; i < 16; ++i)
        d[i / 4][i % 4] = 3.0e38f;

    for (int base = 0; base < nodes; base += 16) {
        const float4 h = *(const float4*)&head[(row + t / 4) * nodes + base + t % 4 * 4];
        const float4 g = *(const float4*)&tail[(base + t / 16) * nodes + col + t % 16 * 4];
        __syncthreads();
        from[t % 4 * 4][t / 4] = h.x, from[t % 4 * 4 + 1][t / 4] = h.y;
        from[t % 4 * 4 + 2][t / 4] = h.z, from[t % 4 * 4 + 3][t / 4] = h.w;
        *(float4*)&to[t / 16][t % 16 * 4] = g;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 u = *(const float4*)&from[k][y], v = *(const float4*)&to[k][x];
            const float a[4] = {u.x, u.y, u.z, u.w}, b[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    d[i][j] = fminf(d[i][j], a[i] + b[j]);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        *(float4*)&best[(row + y + i) * nodes + col + x] =
            make_float4(d[i][0], d[i][1], d[i][2], d[i][3]);
}
#else
extern "C" __global__ void __launch_bounds__(1024) min_plus(const float* __restrict__ head,
    const float* __restrict__ tail, float* __restrict__ best, int nodes)
{
    __shared__ float from[32][33], to[32][33];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
    float d = 3.0e38f;
    for (int base = 0; base < nodes; base += 32) {
        from[y][x] = head[row * nodes + base + x];
        to[y][x] = tail[(base + y) * nodes + col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k)
            d = fminf(d, from[y][k] + to[k][x]);
        __syncthreads();
    }
    best[row * nodes + col] = d;
}
#endif
