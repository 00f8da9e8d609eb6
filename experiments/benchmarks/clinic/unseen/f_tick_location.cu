// Planted: a block goes four times over its row of 192 KB in device memory, while a thousand other
// rows pass through L2. Repair: the row is read once and kept in shared memory.
/* rooftree
[shape]
series = 2048
ticks = 49152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "returns"
role = "input"
shape = ["series", "ticks"]
[[buffer]]
name = "location"
role = "output"
shape = ["series"]
[[buffer]]
name = "scale"
role = "output"
shape = ["series"]
[cost]
bytes = "4 * series * ticks + 8 * series"
flops = "12 * series * ticks"
[[launch]]
kernel = "huber_location"
grid = ["series"]
block = ["1024 if REPAIRED else 256"]
shared = "4 * ticks if REPAIRED else 0"
args = ["returns", "location", "scale", "ticks", { value = 1.345, type = "float32" }]
*/
constexpr int BLOCK = REPAIRED ? 1024 : 256;

__device__ float block_sum(float value)
{
    __shared__ float parts[BLOCK / 32];
#pragma unroll
    for (int far = 16; far > 0; far /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, far);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < BLOCK / 32 ? parts[threadIdx.x % 32] : 0.0f;
#pragma unroll
    for (int far = 16; far > 0; far /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, far);
    return value;
}

template <class Term>
__device__ __forceinline__ float row_sum(const float4* row, int quads, Term term)
{
    float sum = 0.0f;
#pragma unroll 4
    for (int q = threadIdx.x; q < quads; q += BLOCK) {
        const float4 v = row[q];
        sum += (term(v.x) + term(v.y)) + (term(v.z) + term(v.w));
    }
    return block_sum(sum);
}

// Huber's estimate of location: from the mean, two steps with deviations clipped at `clip` sigmas.
extern "C" __global__ void __launch_bounds__(BLOCK, REPAIRED ? 1 : 8) huber_location(
    const float* __restrict__ returns, float* location, float* scale, int ticks, float clip)
{
    const float4* row = (const float4*)(returns + (long long)blockIdx.x * ticks);
    const int quads = ticks / 4;
    const float share = 1.0f / ticks;
#if REPAIRED
    extern __shared__ float4 kept[];
    float sum = 0.0f;
#pragma unroll 4
    for (int q = threadIdx.x; q < quads; q += BLOCK) {
        const float4 v = row[q];
        kept[q] = v;  // read again by the same thread only
        sum += (v.x + v.y) + (v.z + v.w);
    }
    float centre = block_sum(sum) * share;
    row = kept;
#else
    float centre = row_sum(row, quads, [](float v) { return v; }) * share;
#endif
    const float variance = row_sum(row, quads, [=](float v) { return (v - centre) * (v - centre); }) * share;
    const float sigma = sqrtf(variance), limit = clip * sigma;
#pragma unroll 1
    for (int step = 0; step < 2; ++step)
        centre += row_sum(row, quads, [=](float v) { return fminf(fmaxf(v - centre, -limit), limit); }) * share;
    if (threadIdx.x == 0) {
        location[blockIdx.x] = centre;
        scale[blockIdx.x] = sigma;
    }
}
