// Planted: 64 samples of 16 antennas are copied into shared memory through registers; the four warps
// of a multiprocessor form their beams only then, with no load in flight. Repair: cp.async, three tiles.
/* rooftree
[shape]
samples = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "voltages"
role = "input"
shape = [16, "samples", 2]
[[buffer]]
name = "weights"
role = "input"
shape = [16, 16, 2]
[[buffer]]
name = "power"
role = "output"
shape = [132, 16]
[cost]
bytes = "128 * samples"
flops = "2112 * samples"
[[launch]]
kernel = "beams"
grid = [132]
block = [128]
args = ["voltages", "weights", "power", "samples"]
*/
constexpr int ANTENNAS = 16, TIMES = 64, SLOTS = REPAIRED ? 3 : 1;

__device__ void copy(float4* to, const float4* from)
{
#if REPAIRED
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from) : "memory");
#else
    *to = *from;
#endif
}

// A thread forms two beams at four instants of a tile.
extern "C" __global__ void __launch_bounds__(128) beams(const float4* __restrict__ voltages,
    const float2* __restrict__ weights, float* __restrict__ power, int samples)
{
    __shared__ __align__(16) float2 tile[SLOTS][ANTENNAS][TIMES];
    const int t = threadIdx.x, instant = t % 16, beam = t / 16 * 2, tiles = samples / TIMES;
    float2 w[2][ANTENNAS];
    float sum[2] = {};
    for (int a = 0; a < 2 * ANTENNAS; ++a)
        w[a / ANTENNAS][a % ANTENNAS] = weights[beam * ANTENNAS + a];
    auto fetch = [&](int number, int slot) {
        if (number < tiles)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                copy((float4*)tile[slot] + t + i * 128,
                    voltages + (t / 32 + i * 4) * (samples / 2) + number * 32 + t % 32);
    };
#if REPAIRED
    fetch(blockIdx.x, 0);
    asm volatile("cp.async.commit_group;" ::: "memory");
    fetch(blockIdx.x + gridDim.x, 1);
#endif
    for (int number = blockIdx.x, n = 0; number < tiles; number += gridDim.x, ++n) {
#if REPAIRED
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        fetch(number + 2 * gridDim.x, (n + 2) % SLOTS);
#else
        __syncthreads();
        fetch(number, 0);
        __syncthreads();
#endif
        float2 y[2][4] = {};
#pragma unroll
        for (int a = 0; a < ANTENNAS; ++a)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float2 v = tile[n % SLOTS][a][instant + 16 * j];
                for (int b = 0; b < 2; ++b) {
                    y[b][j].x += v.x * w[b][a].x;
                    y[b][j].x -= v.y * w[b][a].y;
                    y[b][j].y += v.x * w[b][a].y;
                    y[b][j].y += v.y * w[b][a].x;
                }
            }
        for (int b = 0; b < 8; ++b)
            sum[b / 4] += y[b / 4][b % 4].x * y[b / 4][b % 4].x + y[b / 4][b % 4].y * y[b / 4][b % 4].y;
    }
    for (int b = 0; b < 2; ++b) {
        for (int d = 8; d > 0; d /= 2)
            sum[b] += __shfl_xor_sync(~0u, sum[b], d);
        if (instant == 0)
            power[blockIdx.x * 16 + beam + b] = sum[b];
    }
}
