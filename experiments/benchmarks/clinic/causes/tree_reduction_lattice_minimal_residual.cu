// Planted: minimal-residual relaxation on a periodic 32 x 32 lattice, a site a thread, sums its three scalar products in a
// shared-memory tree of ten levels a step. Repair: four sites a thread, shuffles, and two barriers a step.
/* rooftree
[shape]
lattices = 6336
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "source"
role = "input"
shape = ["lattices", 32, 32]
[[buffer]]
name = "field"
role = "output"
shape = ["lattices", 32, 32]
[[buffer]]
name = "residual"
role = "output"
shape = ["lattices", 20]
[cost]
bytes = "(8192 + 80) * lattices"
flops = "20 * 16 * 1024 * lattices"
[[launch]]
kernel = "relax"
grid = ["lattices"]
block = [32, "8 if REPAIRED else 32"]
args = ["source", "field", "residual"]
*/
constexpr int SITES = REPAIRED ? 4 : 1, ROWS = 32 / SITES;

__device__ float3 add(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }

extern "C" __global__ void __launch_bounds__(32 * ROWS, REPAIRED ? 6 : 2) relax(const float* __restrict__ source,
    float* __restrict__ field, float* __restrict__ residual)
{
    __shared__ float r[32][32];
    __shared__ float3 sums[REPAIRED ? ROWS : 1024];
    const int x = threadIdx.x, t = threadIdx.y * 32 + x, base = blockIdx.x * 1024;
    float rest[SITES], solution[SITES] = {}, image[SITES];
    for (int k = 0; k < SITES; ++k)
        rest[k] = source[base + k * ROWS * 32 + t];
    for (int step = 0; step < 20; ++step) {
        for (int k = 0; k < SITES; ++k)
            r[threadIdx.y + k * ROWS][x] = rest[k];
        __syncthreads();
        float3 sum = make_float3(0.0f, 0.0f, 0.0f);
        for (int k = 0; k < SITES; ++k) {
            const int y = threadIdx.y + k * ROWS;
            const float around = r[y][(x + 1) % 32] + r[y][(x + 31) % 32] + r[(y + 1) % 32][x] + r[(y + 31) % 32][x];
            image[k] = 4.5f * rest[k] - around;
            sum = add(sum, make_float3(rest[k] * image[k], image[k] * image[k], rest[k] * rest[k]));
        }
#if REPAIRED
        for (int d = 16; d > 0; d /= 2)
            sum = add(sum, make_float3(__shfl_xor_sync(~0u, sum.x, d), __shfl_xor_sync(~0u, sum.y, d),
                __shfl_xor_sync(~0u, sum.z, d)));
        if (x == 0)
            sums[threadIdx.y] = sum;
        __syncthreads();
        sum = sums[0];
        for (int row = 1; row < ROWS; ++row)
            sum = add(sum, sums[row]);
#else
        sums[t] = sum;
        __syncthreads();
        for (int half = 512; half > 0; half /= 2) {
            if (t < half)
                sums[t] = add(sums[t], sums[t + half]);
            __syncthreads();
        }
        sum = sums[0];
#endif
        const float along = __fdividef(sum.x, sum.y + 1e-30f);
        for (int k = 0; k < SITES; ++k) {
            solution[k] += along * rest[k];
            rest[k] -= along * image[k];
        }
        if (t == 0)
            residual[blockIdx.x * 20 + step] = sum.z;
    }
    for (int k = 0; k < SITES; ++k)
        field[base + k * ROWS * 32 + t] = solution[k];
}
