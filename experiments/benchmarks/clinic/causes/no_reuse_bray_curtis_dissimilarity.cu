// Planted: one pair of survey plots per thread, two loads from L1 for every species compared.
// Repair: 64 x 64 pairs per block from tiles in shared memory, 4 x 4 of them per thread in registers.
/* rooftree
[shape]
plots = 2048
species = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "abundance"
role = "input"
fill = "uniform"
shape = ["species", "plots"]
[[buffer]]
name = "total"
role = "input"
fill = "uniform"
shape = ["plots"]
[[buffer]]
name = "dissimilarity"
role = "output"
shape = ["plots", "plots"]
[cost]
bytes = "4 * plots * (plots + species)"
flops = "2 * plots * plots * species"
[[launch]]
kernel = "bray_curtis"
grid = ["plots // (64 if REPAIRED else 32)", "plots // (64 if REPAIRED else 8)"]
block = ["16 if REPAIRED else 32", "16 if REPAIRED else 8"]
args = ["abundance", "total", "dissimilarity", "plots", "species"]
*/
extern "C" __global__ void bray_curtis(const float* __restrict__ abundance,
    const float* __restrict__ total, float* dissimilarity, int plots, int species)
{
    constexpr int SIDE = REPAIRED ? 4 : 1;
    const int i = (blockIdx.y * blockDim.y + threadIdx.y) * SIDE;
    const int j = (blockIdx.x * blockDim.x + threadIdx.x) * SIDE;
    float sum[SIDE][SIDE] = {};
#if REPAIRED
    __shared__ float4 ours[16][16], theirs[16][16];
    for (int s = 0; s < species; s += 16) {
        const float* row = abundance + (s + threadIdx.y) * plots + threadIdx.x * 4;
        ours[threadIdx.y][threadIdx.x] = *(const float4*)(row + blockIdx.y * 64);
        theirs[threadIdx.y][threadIdx.x] = *(const float4*)(row + blockIdx.x * 64);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 p = ours[k][threadIdx.y], q = theirs[k][threadIdx.x];
            const float a[4] = {p.x, p.y, p.z, p.w}, b[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int n = 0; n < 16; ++n) sum[n / 4][n % 4] += fabsf(a[n / 4] - b[n % 4]);
        }
        __syncthreads();
    }
#else
#pragma unroll 8
    for (int s = 0; s < species; ++s)
        sum[0][0] += fabsf(abundance[s * plots + i] - abundance[s * plots + j]);
#endif
#pragma unroll
    for (int n = 0; n < SIDE * SIDE; ++n) {
        const int a = i + n / SIDE, b = j + n % SIDE;
        dissimilarity[a * plots + b] = sum[n / SIDE][n % SIDE] / fmaxf(total[a] + total[b], 1e-6f);
    }
}
