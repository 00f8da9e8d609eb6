// Planted: each tile of samples is fetched through registers into one buffer of shared memory; between
// two barriers the block either fetches or computes, never both. Repair: the same shared memory as a
// ring of four smaller tiles, filled by asynchronous copies (cp.async) while another is used.
/* rooftree
[shape]
samples = 268435456
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "audio"
role = "input"
shape = ["samples + 8"]
[[buffer]]
name = "difference"
role = "output"
shape = ["samples // 524288", "8"]
[cost]
bytes = "4 * samples"
flops = "16 * samples"
[[launch]]
kernel = "amdf"
grid = ["samples // 524288"]
block = [1024]
args = ["audio", "difference"]
shared = "131200 if REPAIRED else 131104"
*/
constexpr int LAGS = 8, THREADS = 1024, SEGMENT = 524288;
constexpr int TILE = REPAIRED ? 8192 : 32768;
extern __shared__ float4 ring[];         // of tiles, each with two float4 more for the last lags

__device__ __forceinline__ void accumulate(const float4* tile, float (&sums)[LAGS])
{
#pragma unroll 2
    for (int j = threadIdx.x; j < TILE / 4; j += THREADS) {
        const float4 a = tile[j], b = tile[j + 1], c = tile[j + 2];
        const float v[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
        for (int s = 0; s < 4; ++s)
#pragma unroll
            for (int lag = 0; lag < LAGS; ++lag)
                sums[lag] += fabsf(v[s] - v[s + lag + 1]);
    }
}

#if REPAIRED
constexpr int STAGES = 4, QUADS = TILE / 4 + 2;

__device__ __forceinline__ void fetch(const float4* audio, int tile)
{
    if (tile < SEGMENT / TILE)
        for (int j = threadIdx.x; j < QUADS; j += THREADS) {
            const unsigned to = (unsigned)__cvta_generic_to_shared(&ring[tile % STAGES * QUADS + j]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                ::"r"(to), "l"(audio + tile * (TILE / 4) + j) : "memory");
        }
    asm volatile("cp.async.commit_group;" ::: "memory");
}
#endif

// Average magnitude difference function, for pitch detection: per segment and lag the sum of
// |x[i] - x[i + lag]|.
extern "C" __global__ void __launch_bounds__(THREADS) amdf(const float4* __restrict__ audio,
    float* __restrict__ difference)
{
    __shared__ float warps[32][LAGS];
    const int t = threadIdx.x;
    audio += (long long)blockIdx.x * (SEGMENT / 4);
    float sums[LAGS] = {};
#if REPAIRED
    for (int tile = 0; tile < STAGES - 1; ++tile)
        fetch(audio, tile);
    for (int tile = 0; tile < SEGMENT / TILE; ++tile) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        fetch(audio, tile + STAGES - 1);
        accumulate(ring + tile % STAGES * QUADS, sums);
    }
#else
    for (int tile = 0; tile < SEGMENT / TILE; ++tile) {
        const float4* from = audio + tile * (TILE / 4);
        float4 staged[TILE / 4 / THREADS];
#pragma unroll
        for (int k = 0; k < TILE / 4 / THREADS; ++k)
            staged[k] = from[k * THREADS + t];
#pragma unroll
        for (int k = 0; k < TILE / 4 / THREADS; ++k)
            ring[k * THREADS + t] = staged[k];
        if (t < 2)
            ring[TILE / 4 + t] = from[TILE / 4 + t];
        __syncthreads();
        accumulate(ring, sums);
        __syncthreads();
    }
#endif
#pragma unroll
    for (int lag = 0; lag < LAGS; ++lag) {
        for (int mask = 16; mask > 0; mask /= 2)
            sums[lag] += __shfl_xor_sync(~0u, sums[lag], mask);
        if (t % 32 == 0)
            warps[t / 32][lag] = sums[lag];
    }
    __syncthreads();
    if (t < LAGS) {
        float sum = 0.0f;
        for (int w = 0; w < 32; ++w)
            sum += warps[w][t];
        difference[blockIdx.x * LAGS + t] = sum;
    }
}
