// Planted: 140 blocks of which one fits a multiprocessor, each as long as the kernel: after 132 of them
// eight more run alone for as long again. Repair: small blocks, seventeen to each multiprocessor.
/* rooftree
[shape]
places = 573440
samples = 16384
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "place"
role = "input"
shape = ["places", 2]
[[buffer]]
name = "sample"
role = "input"
shape = ["samples", 2]
[[buffer]]
name = "density"
role = "output"
shape = ["places"]
[cost]
bytes = "12 * places + 8 * samples"
flops = "9 * places * samples"
[[launch]]
kernel = "density_map"
grid = ["places // 256 if REPAIRED else places // 4096"]
block = ["128 if REPAIRED else 1024"]
shared = "8 * (4096 if REPAIRED else 16384)"
args = ["place", "sample", "density", "samples", { value = "1 / samples", type = "float32" }]
*/
#if REPAIRED
#define THREADS 128
#define EACH 2
#define TILE 4096
#define RESIDENT 6
#else
#define THREADS 1024
#define EACH 4
#define TILE 16384 // all samples at once: no barriers on the way
#define RESIDENT 1
#endif

extern __shared__ float4 pairs[]; // two samples each

// Kernel density estimate with the biweight kernel (1 - r^2)^2; lengths are in bandwidths.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) density_map(const float2* __restrict__ place,
    const float4* __restrict__ sample, float* __restrict__ density, int samples, float share)
{
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
    float2 at[EACH];
    float sum[EACH] = {};
#pragma unroll
    for (int j = 0; j < EACH; ++j)
        at[j] = place[first + j * THREADS];
    for (int base = 0; base < samples / 2; base += TILE / 2) {
        __syncthreads();
#pragma unroll 8
        for (int i = threadIdx.x; i < TILE / 2; i += THREADS)
            pairs[i] = sample[base + i];
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < TILE / 2; ++i) {
            const float4 two = pairs[i];
#pragma unroll
            for (int j = 0; j < EACH; ++j) {
                const float ax = at[j].x - two.x, ay = at[j].y - two.y;
                const float a = fmaxf(fmaf(-ay, ay, fmaf(-ax, ax, 1.0f)), 0.0f);
                sum[j] = fmaf(a, a, sum[j]);
                const float bx = at[j].x - two.z, by = at[j].y - two.w;
                const float b = fmaxf(fmaf(-by, by, fmaf(-bx, bx, 1.0f)), 0.0f);
                sum[j] = fmaf(b, b, sum[j]);
            }
        }
    }
#pragma unroll
    for (int j = 0; j < EACH; ++j)
        density[first + j * THREADS] = share * sum[j];
}
