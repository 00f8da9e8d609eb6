// Planted: each tile is loaded into registers, stored to shared memory and only then used, while
// nothing else is in flight. Repair: cp.async fetches the next tile into a second buffer meanwhile.
/* rooftree
[shape]
m = 1024
n = 1024
k = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "at"
role = "input"
shape = ["k", "m"]
[[buffer]]
name = "b"
role = "input"
shape = ["k", "n"]
[[buffer]]
name = "c"
role = "output"
shape = ["m", "n"]
[cost]
bytes = "4 * (m * k + k * n + m * n)"
flops = "2 * m * n * k"
[[launch]]
kernel = "matmul"
grid = ["n / 64", "m / 64"]
block = [64]
args = ["at", "b", "c", "m", "n", "k"]
*/
typedef unsigned int u32;
constexpr int KT = 8;

__device__ void stage(float (*tile)[64], const float* from, int pitch)
{
    for (int i = threadIdx.x; i < KT * 16; i += 64) {
        float* to = &tile[i / 16][i % 16 * 4];
        const float* source = from + i / 16 * pitch + i % 16 * 4;
#if REPAIRED
        const u32 address = (u32)__cvta_generic_to_shared(to);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source));
#else
        *(float4*)to = *(const float4*)source;
#endif
    }
}

extern "C" __global__ void matmul(const float* __restrict__ at, const float* __restrict__ b,
    float* __restrict__ c, int m, int n, int k)
{
    __shared__ __align__(16) float a_tile[1 + REPAIRED][KT][64], b_tile[1 + REPAIRED][KT][64];
    const int row = blockIdx.y * 64, col = blockIdx.x * 64;
    const int ty = threadIdx.x / 8 * 8, tx = threadIdx.x % 8 * 8;
    float sums[8][8] = {};
#if REPAIRED
    stage(a_tile[0], at + row, m);
    stage(b_tile[0], b + col, n);
    asm volatile("cp.async.commit_group;");
#endif
    for (int base = 0; base < k; base += KT) {
#if REPAIRED
        const int now = base / KT % 2;
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        if (base + KT < k) {
            stage(a_tile[1 - now], at + (base + KT) * m + row, m);
            stage(b_tile[1 - now], b + (base + KT) * n + col, n);
            asm volatile("cp.async.commit_group;");
        }
#else
        const int now = 0;
        stage(a_tile[0], at + base * m + row, m);
        stage(b_tile[0], b + base * n + col, n);
        __syncthreads();
#endif
#pragma unroll
        for (int s = 0; s < KT; ++s) {
            float u[8], v[8];
            *(float4*)u = *(float4*)&a_tile[now][s][ty];
            *(float4*)(u + 4) = *(float4*)&a_tile[now][s][ty + 4];
            *(float4*)v = *(float4*)&b_tile[now][s][tx];
            *(float4*)(v + 4) = *(float4*)&b_tile[now][s][tx + 4];
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j)
                    sums[i][j] += u[i] * v[j];
        }
#if !REPAIRED
        __syncthreads();
#endif
    }
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; j += 4)
            *(float4*)&c[(row + ty + i) * n + col + tx + j] = *(float4*)&sums[i][j];
}
