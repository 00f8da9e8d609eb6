// Planted: the two 64 x 64 bf16 layers of a radiance field are evaluated by fp32 multiply-adds. Repair: by
// mma.sync; the sums of a layer already lie where the next one wants its inputs.
/* rooftree
[shape]
n = 2097152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
dtype = "bfloat16"
shape = ["n", 64]
[[buffer]]
name = "w"
role = "input"
dtype = "bfloat16"
shape = [2, 64, 64]
[[buffer]]
name = "density"
role = "output"
shape = ["n"]
[cost]
bytes = "132 * n + 16384"
flops = "16384 * n"
math = "bf16"
[[launch]]
kernel = "field"
grid = ["n // 128"]
block = [128]
args = ["x", "w", "density"]
*/
__device__ unsigned pack_relu(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
__device__ float low(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ float high(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

extern "C" __global__ void __launch_bounds__(128, 3 + REPAIRED) field(const uint4* x, const uint4* w, float* density)
{
    __shared__ __align__(16) unsigned in[128][36], weight[2][64][36];  // pairs of bf16, rows padded
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
#pragma unroll
    for (int part = 0; part < 8; ++part) {
        const int i = part * 128 + t;
        *(uint4*)&in[i / 8][i % 8 * 4] = x[(size_t)blockIdx.x * 1024 + i];
        *(uint4*)&weight[i / 512][i / 8 % 64][i % 8 * 4] = w[i];
    }
    __syncthreads();
#if REPAIRED
    const int group = lane / 4, quad = lane % 4, row = warp * 32 + group;
    unsigned a[2][4][4];
#pragma unroll
    for (int i = 0; i < 32; ++i)  // 2 tiles of 16 samples, 4 steps of 16 features
        a[i / 16][i / 4 % 4][i % 4] =
            in[row + i / 16 * 16 + i % 2 * 8][i / 4 % 4 * 8 + i % 4 / 2 * 4 + quad];
#pragma unroll
    for (int layer = 0; layer < 2; ++layer) {
        float c[2][8][4] = {};
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            const int tile = i % 2, out = i / 2 % 8, k = i / 16;
            const unsigned* b = &weight[layer][out * 8 + group][k * 8 + quad];
            float* s = c[tile][out];
            asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                "{%8,%9}, {%0,%1,%2,%3};"
                : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                : "r"(a[tile][k][0]), "r"(a[tile][k][1]), "r"(a[tile][k][2]), "r"(a[tile][k][3]),
                  "r"(b[0]), "r"(b[4]));
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            const float* s = &c[i / 16][i / 4 % 4 * 2 + i % 4 / 2][i % 2 * 2];
            a[i / 16][i / 4 % 4][i % 4] = pack_relu(s[0], s[1]);
        }
    }
#pragma unroll
    for (int part = 0; part < 4; ++part) {  // the density is the sum of the last features
        float sum = 0.0f;
#pragma unroll
        for (int i = part % 2; i < 16; i += 2)
            sum += low(a[part / 2][i / 4][i % 4]) + high(a[part / 2][i / 4][i % 4]);
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (quad == 0) density[blockIdx.x * 128 + row + part / 2 * 16 + part % 2 * 8] = sum;
    }
#else
    const int sample = t / 8, neuron = t % 8;  // 8 samples 16 apart, 4 pairs of neurons 16 apart
    for (int layer = 0; layer < 2; ++layer) {
        float c[8][8] = {};
#pragma unroll 4
        for (int k = 0; k < 32; ++k) {
            unsigned a[8], b[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) a[i] = in[sample + i * 16][k];
#pragma unroll
            for (int i = 0; i < 8; ++i) b[i] = weight[layer][i / 2 * 16 + neuron * 2 + i % 2][k];
#pragma unroll
            for (int i = 0; i < 64; ++i) {
                c[i / 8][i % 8] = fmaf(low(a[i / 8]), low(b[i % 8]), c[i / 8][i % 8]);
                c[i / 8][i % 8] = fmaf(high(a[i / 8]), high(b[i % 8]), c[i / 8][i % 8]);
            }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; ++i)
            in[sample + i / 4 * 16][i % 4 * 8 + neuron] =
                pack_relu(c[i / 4][i % 4 * 2], c[i / 4][i % 4 * 2 + 1]);
        __syncthreads();
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += low(in[t][k]) + high(in[t][k]);
    density[blockIdx.x * 128 + t] = sum;
#endif
}
