// Planted: a block loads the next 1024 samples, waits at a barrier, computes, waits again: the loads'
// latency is paid for every tile, and the only block of the multiprocessor has nothing else to do.
// Repair: two tiles are fetched ahead into the ring by cp.async.
/* rooftree
[shape]
channels = 264
samples = 262144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "dry"
role = "input"
shape = ["channels", "samples"]
[[buffer]]
name = "gains"
role = "input"
shape = [24]
fill = "uniform"
[[buffer]]
name = "wet"
role = "output"
shape = ["channels", "samples"]
[cost]
bytes = "8 * channels * samples"
flops = "48 * channels * samples"
[[launch]]
kernel = "room_reverb"
grid = ["channels"]
block = [256]
shared = "131072"
args = ["dry", "gains", "wet", "samples"]
*/
#define RING 32768 // samples of the past, for delays of up to 29696
#define TILE 1024
#define ECHOES 24
#define SPACING 1237

extern __shared__ float4 ring4[];

static __device__ __forceinline__ void fetch(const float4* source, int start, int samples)
{
    float4* slot = &ring4[(start / 4 + threadIdx.x) & (RING / 4 - 1)];
#if REPAIRED
    if (start < samples)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(slot)),
            "l"(source + start / 4 + threadIdx.x)
            : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    *slot = source[start / 4 + threadIdx.x];
#endif
}

// Early reflections: each channel is the sum of its delayed selves, one block per channel.
extern "C" __global__ void __launch_bounds__(256, 1) room_reverb(const float* __restrict__ dry,
    const float* __restrict__ gains, float* __restrict__ wet, int samples)
{
    const float* ring = (const float*)ring4;
    const float4* source = (const float4*)(dry + (size_t)blockIdx.x * samples);
    float* out = wet + (size_t)blockIdx.x * samples;
    for (int i = threadIdx.x; i < RING / 4; i += 256)
        ring4[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float gain[ECHOES];
#pragma unroll
    for (int r = 0; r < ECHOES; ++r)
        gain[r] = gains[r];
    __syncthreads();
#if REPAIRED
    fetch(source, 0, samples);
    fetch(source, TILE, samples);
#endif
    for (int start = 0; start < samples; start += TILE) {
#if REPAIRED
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        fetch(source, start + 2 * TILE, samples); // over what no echo needs any more
#else
        fetch(source, start, samples);
        __syncthreads();
#endif
#pragma unroll
        for (int j = 0; j < TILE; j += 256) {
            const int now = start + j + threadIdx.x;
            float sum = 0.0f;
#pragma unroll
            for (int r = 0; r < ECHOES; ++r)
                sum = fmaf(gain[r], ring[(now - r * SPACING) & (RING - 1)], sum);
            out[now] = sum;
        }
#if !REPAIRED
        __syncthreads();
#endif
    }
}
