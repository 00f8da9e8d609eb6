// Planted: tiles go through registers to shared memory, and nothing is in flight while a tile is
// computed. Repair: cp.async fills a ring of eight tiles, seven of them ahead.
/* rooftree
[shape]
n = 67108864
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "signal"
role = "input"
shape = ["n"]
[[buffer]]
name = "curve"
role = "input"
shape = [8]
[[buffer]]
name = "power"
role = "output"
shape = [132]
[cost]
bytes = "4 * n"
flops = "20 * n"
[[launch]]
kernel = "sensor_power"
grid = [132]
block = [1024]
shared = "4 * 4096 * (8 if REPAIRED else 1)"
args = ["signal", "curve", "power", "n // 4096"]
*/
constexpr int TILE = 4096, THREADS = 1024, TERMS = 8;

// Smooths a sample with its neighbours, corrects the sensor's curve, returns the power.
__device__ float corrected(const float* tile, int i, const float (&curve)[TERMS])
{
    const float s = 0.5f * tile[i] + 0.25f * (tile[max(i - 1, 0)] + tile[min(i + 1, TILE - 1)]);
    float y = curve[0];
#pragma unroll
    for (int k = 1; k < TERMS; ++k)
        y = y * s + curve[k];
    return y * y;
}

extern "C" __global__ void __launch_bounds__(THREADS) sensor_power(
    const float* __restrict__ signal, const float* __restrict__ curve, float* __restrict__ power,
    int tiles)
{
    extern __shared__ __align__(16) float ring[];
    __shared__ float warps[32];
    const int t = threadIdx.x;
    float sum = 0.0f, coefficients[TERMS];
#pragma unroll
    for (int k = 0; k < TERMS; ++k)
        coefficients[k] = curve[k];
#if REPAIRED
    constexpr int RING = 8;
    const unsigned to = (unsigned)__cvta_generic_to_shared(ring + t * 4);
    auto fetch = [&](int number) {  // the block's tile of that number, or an empty group
        const int tile = blockIdx.x + number * gridDim.x;
        if (tile < tiles)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                :: "r"(to + number % RING * TILE * 4), "l"(signal + tile * TILE + t * 4));
        asm volatile("cp.async.commit_group;");
    };
    for (int number = 0; number < RING - 1; ++number)
        fetch(number);
#endif
    for (int tile = blockIdx.x, number = 0; tile < tiles; tile += gridDim.x, ++number) {
#if REPAIRED
        asm volatile("cp.async.wait_group %0;" :: "n"(RING - 2) : "memory");
        __syncthreads();
        fetch(number + RING - 1);
        const float* samples = ring + number % RING * TILE;
#else
        __syncthreads();
        ((float4*)ring)[t] = ((const float4*)(signal + tile * TILE))[t];
        __syncthreads();
        const float* samples = ring;
#endif
#pragma unroll
        for (int k = 0; k < TILE / THREADS; ++k)
            sum += corrected(samples, t + k * THREADS, coefficients);
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (t % 32 == 0)
        warps[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = warps[t];
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (t == 0)
            power[blockIdx.x] = sum;
    }
}
