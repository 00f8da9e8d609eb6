// Planted: an exponential for every pair of a distance and a centre. Repair: the centres are
// equidistant, so that two exponentials start a recurrence that serves eight centres.
/* rooftree
[shape]
pairs = 8388608
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "distances"
role = "input"
shape = ["pairs"]
fill = "uniform"
[[buffer]]
name = "weights"
role = "input"
shape = [128]
[[buffer]]
name = "filters"
role = "output"
shape = ["pairs"]
[cost]
bytes = "8 * pairs"
flops = "128 * 4 * pairs"
[[launch]]
kernel = "radial_filter"
grid = ["pairs // 1024"]
block = [256]
args = ["distances", "weights", "filters"]
*/
#define CENTRES 128
#define GROUP 8
#define PER_THREAD 4
#define SCALE 0.42466090f    // sqrt(log2(e) / 2) / 2: Gaussians two spacings wide
#define SCALE2 0.18033688f   // SCALE squared
#define DECAY 0.77880078f    // 2^(-2 SCALE2)

__device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Continuous filter of a molecular network: interatomic distances expanded in Gaussians, contracted
// with the learned weights.
extern "C" __global__ void __launch_bounds__(256) radial_filter(const float* __restrict__ distances,
    const float* __restrict__ weights, float* __restrict__ filters)
{
    __shared__ __align__(16) float w[CENTRES];
    if (threadIdx.x < CENTRES)
        w[threadIdx.x] = weights[threadIdx.x];
    __syncthreads();

    const int first = blockIdx.x * 256 * PER_THREAD + threadIdx.x;
    float offset[PER_THREAD], sums[PER_THREAD];
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
        offset[j] = (distances[first + 256 * j] + 1.0f) * (0.5f * CENTRES * SCALE);
        sums[j] = 0.0f;
    }

    for (int k = 0; k < CENTRES; k += GROUP) {
        float g[GROUP];
        *(float4*)g = *(const float4*)&w[k];
        *(float4*)(g + 4) = *(const float4*)&w[k + 4];
#pragma unroll
        for (int j = 0; j < PER_THREAD; ++j) {
#if REPAIRED
            float e = exp2_fast(-offset[j] * offset[j]);
            float ratio = exp2_fast(fmaf(2.0f * SCALE, offset[j], -SCALE2));
#pragma unroll
            for (int c = 0; c < GROUP; ++c) {
                sums[j] = fmaf(g[c], e, sums[j]);
                e *= ratio;
                ratio *= DECAY;
            }
#else
#pragma unroll
            for (int c = 0; c < GROUP; ++c) {
                const float x = offset[j] - c * SCALE;
                sums[j] = fmaf(g[c], exp2_fast(-x * x), sums[j]);
            }
#endif
            offset[j] -= GROUP * SCALE;
        }
    }

#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j)
        filters[first + 256 * j] = sums[j];
}
