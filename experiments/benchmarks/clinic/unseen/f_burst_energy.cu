// Planted: one block per burst, sorted by duration: octave k has 2^(bits - k) bursts of 4096 * 2^k
// samples, and the last blocks run on long after all others have ended. Repair: one block per 4096
// samples, whatever burst they belong to.
/* rooftree
[shape]
bits = 11
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "samples"
role = "input"
shape = ["(bits + 1) << bits", "4096"]
[[buffer]]
name = "energy"
role = "output"
shape = ["(2 << bits) - 1"]
[cost]
bytes = "16384 * ((bits + 1) << bits) + 4 * (2 << bits)"
flops = "8192 * ((bits + 1) << bits)"
[[launch]]
memset = "energy"
when = "REPAIRED == 1"
[[launch]]
kernel = "burst_energy"
grid = ["((bits + 1) << bits) if REPAIRED else ((2 << bits) - 1)"]
block = [256]
args = ["samples", "energy", "bits"]
*/
constexpr int QUADS = 1024;  // float4 in the shortest burst

__device__ float block_sum(float value)
{
    __shared__ float parts[8];
#pragma unroll
    for (int far = 16; far > 0; far /= 2)
        value += __shfl_down_sync(0xffffffffu, value, far);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i)
        sum += parts[i];
    return sum;
}

__device__ __forceinline__ float power(const float4* __restrict__ from, int quads)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int q = threadIdx.x; q < quads; q += 256) {
        const float4 v = from[q];
        sum.x = fmaf(v.x, v.x, sum.x), sum.y = fmaf(v.y, v.y, sum.y);
        sum.z = fmaf(v.z, v.z, sum.z), sum.w = fmaf(v.w, v.w, sum.w);
    }
    return (sum.x + sum.y) + (sum.z + sum.w);
}

// Every octave of durations holds 2^bits * 4096 samples, burst after burst.
extern "C" __global__ void __launch_bounds__(256) burst_energy(const float4* __restrict__ samples,
    float* __restrict__ energy, int bits)
{
#if REPAIRED
    const int octave = blockIdx.x >> bits;
    const int burst = (blockIdx.x & ((1 << bits) - 1)) >> octave;
    const int rank = (2 << (bits - octave)) - 1 - burst;
    const float sum = block_sum(power(samples + (long long)blockIdx.x * QUADS, QUADS));
    if (threadIdx.x == 0)
        atomicAdd(&energy[(2 << bits) - 1 - rank], sum);
#else
    const int rank = (2 << bits) - 1 - blockIdx.x;  // 1: the longest
    const int octave = bits - (31 - __clz(rank));
    const int burst = (2 << (bits - octave)) - 1 - rank;
    const long long begin = ((long long)octave << bits) + ((long long)burst << octave);
    const float sum = block_sum(power(samples + begin * QUADS, QUADS << octave));
    if (threadIdx.x == 0)
        energy[blockIdx.x] = sum;
#endif
}
