// Planted: a bf16 linear layer whose products run on the fp32 units. Repair: the same tile through
// the tensor cores (mma.sync m16n8k16).
/* rooftree
[shape]
m = 2048
n = 2048
k = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
dtype = "bfloat16"
shape = ["m", "k"]
[[buffer]]
name = "w"
role = "input"
dtype = "bfloat16"
shape = ["n", "k"]
[[buffer]]
name = "y"
role = "output"
shape = ["m", "n"]
[cost]
bytes = "2 * m * k + 2 * n * k + 4 * m * n"
flops = "2 * m * n * k"
math = "bf16"
[[launch]]
kernel = "linear"
grid = ["n / 64", "m / 64"]
block = ["128 if REPAIRED else 256"]
args = ["x", "w", "y", "n", "k"]
*/
typedef unsigned int u32;
typedef unsigned short bf16;

#if REPAIRED
constexpr int KT = 32, PITCH = KT + 8;

extern "C" __global__ void linear(const bf16* x, const bf16* w, float* y, int n, int k)
{
    __shared__ __align__(16) bf16 a[64 * PITCH], b[64 * PITCH];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int row = blockIdx.y * 64, col = blockIdx.x * 64, wr = warp / 2 * 32, wc = warp % 2 * 32;
    float c[2][4][4] = {};
    for (int base = 0; base < k; base += KT) {
        for (int i = threadIdx.x; i < 64 * KT / 8; i += 128) {
            const int r = i / (KT / 8), q = i % (KT / 8) * 8;
            *(uint4*)&a[r * PITCH + q] = *(const uint4*)&x[(row + r) * k + base + q];
            *(uint4*)&b[r * PITCH + q] = *(const uint4*)&w[(col + r) * k + base + q];
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < KT; s += 16)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j) {
                    const bf16* p = &a[(wr + i * 16 + g) * PITCH + s + 2 * t];
                    const bf16* q = &b[(wc + j * 8 + g) * PITCH + s + 2 * t];
                    float* d = c[i][j];
                    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                        : "r"(*(const u32*)p), "r"(*(const u32*)(p + 8 * PITCH)),
                          "r"(*(const u32*)(p + 8)), "r"(*(const u32*)(p + 8 * PITCH + 8)),
                          "r"(*(const u32*)q), "r"(*(const u32*)(q + 8)));
                }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int h = 0; h < 2; ++h)
                *(float2*)&y[(row + wr + i * 16 + g + 8 * h) * n + col + wc + j * 8 + 2 * t] =
                    make_float2(c[i][j][2 * h], c[i][j][2 * h + 1]);
}
#else
__device__ float widen(bf16 v) { return __uint_as_float((u32)v << 16); }

extern "C" __global__ void linear(const bf16* x, const bf16* w, float* y, int n, int k)
{
    __shared__ float a[16][64 + 4], b[16][64 + 4];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row = blockIdx.y * 64, col = blockIdx.x * 64;
    float c[4][4] = {};
    for (int base = 0; base < k; base += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 256) {
            a[i % 16][i / 16] = widen(x[(row + i / 16) * k + base + i % 16]);
            b[i % 16][i / 16] = widen(w[(col + i / 16) * k + base + i % 16]);
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 16; ++s) {
            const float4 p = *(const float4*)&a[s][4 * ty], q = *(const float4*)&b[s][4 * tx];
            const float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    c[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        *(float4*)&y[(row + 4 * ty + i) * n + col + 4 * tx] =
            make_float4(c[i][0], c[i][1], c[i][2], c[i][3]);
}
#endif
