// Planted: a tile goes through registers into shared memory, and no load is in flight while the
// cosine sums run. Repair: cp.async keeps three tiles on their way.
/* rooftree
[shape]
n = 69206016
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "signal"
role = "input"
shape = ["n"]
[[buffer]]
name = "energy"
role = "output"
shape = [264, 8, 32]
[cost]
bytes = "4 * n"
flops = "66 * n"
math = "fp32"
[[launch]]
kernel = "dct_energy"
grid = [264]
block = [256]
args = ["signal", "energy", "n / 1024 / 264"]
*/
// Energy of each of 32 DCT coefficients over all blocks of 32 samples: lane k holds basis k.
extern "C" __global__ void __launch_bounds__(256, 2)
    dct_energy(const float4* signal, float* energy, int tiles)
{
    const int me = threadIdx.x, lane = me % 32, warp = me / 32;
    const int stages = REPAIRED ? 4 : 1;
    __shared__ float4 tile[stages][256];
    const float4* source = signal + (size_t)blockIdx.x * tiles * 256 + me;
    float basis[32], sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 32; ++j)
        basis[j] = cospif((j + 0.5f) * lane / 32.0f);
#if REPAIRED
    const unsigned slot = (unsigned)__cvta_generic_to_shared(&tile[0][me]);
#define FETCH(t)                                                                           \
    if ((t) < tiles)                                                                       \
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(slot + (t) % 4 * 4096), \
                     "l"(source + (size_t)(t) * 256) : "memory");                          \
    asm volatile("cp.async.commit_group;" ::: "memory")
    FETCH(0);
    FETCH(1);
    FETCH(2);
#endif
    for (int t = 0; t < tiles; ++t) {
#if REPAIRED
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        FETCH(t + 3);
#else
        __syncthreads();
        tile[0][me] = source[(size_t)t * 256];
        __syncthreads();
#endif
#pragma unroll
        for (int row = 0; row < 4; ++row) {
            const float4* x = &tile[t % stages][(warp * 4 + row) * 8];
            float even = 0.0f, odd = 0.0f;
#pragma unroll
            for (int q = 0; q < 8; ++q) {
                even = fmaf(x[q].x, basis[4 * q], fmaf(x[q].y, basis[4 * q + 1], even));
                odd = fmaf(x[q].z, basis[4 * q + 2], fmaf(x[q].w, basis[4 * q + 3], odd));
            }
            sum = fmaf(even + odd, even + odd, sum);
        }
    }
    energy[blockIdx.x * 256 + me] = sum;
}
