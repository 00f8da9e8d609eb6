// Planted: a hop is three loads that depend on each other (site, frame, cell, couplings), and so does the
// next hop: every warp has one load in flight. Repair: a warp follows four carriers at a time.
/* rooftree
[shape]
sites = 4194304
carriers = 65536
hops = 48
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "frame"
role = "input"
dtype = "int32"
shape = ["sites"]
[[buffer]]
name = "cell"
role = "input"
dtype = "int32"
shape = ["sites"]
[[buffer]]
name = "coupling"
role = "input"
dtype = "float16"
shape = ["sites", "32"]
[[buffer]]
name = "gained"
role = "output"
shape = ["carriers"]
[cost]
bytes = "64 * carriers * hops + 8 * sites + 4 * carriers"
flops = "carriers * hops * 32"
[[launch]]
kernel = "hop"
grid = ["carriers // 32 if REPAIRED else carriers // 8"]
block = [256]
args = ["frame", "cell", "coupling", "gained", "sites", "hops"]
*/
#include <cuda_fp16.h>

constexpr int LANES = 32;
constexpr int TOGETHER = REPAIRED ? 4 : 1;  // carriers that a warp follows

__device__ __forceinline__ unsigned scatter(unsigned v)
{
    v = (v ^ v >> 16) * 0x7feb352du;
    v = (v ^ v >> 15) * 0x846ca68bu;
    return v ^ v >> 16;
}

// Charge carriers in a disordered solid take the strongest of 32 couplings, again and again.
extern "C" __global__ void __launch_bounds__(256) hop(const int* __restrict__ frame, const int* __restrict__ cell,
    const __half* __restrict__ coupling, float* __restrict__ gained, int sites, int hops)
{
    const unsigned lane = threadIdx.x % LANES, warp = (blockIdx.x * 256 + threadIdx.x) / LANES;
    const unsigned mask = sites - 1;
    unsigned site[TOGETHER];
    float sum[TOGETHER];
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c) {
        site[c] = scatter(warp * TOGETHER + c) & mask;
        sum[c] = 0.0f;
    }
#pragma unroll 1
    for (int step = 0; step < hops; ++step) {
        unsigned row[TOGETHER];
        int best[TOGETHER];
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            row[c] = scatter(site[c] + frame[site[c]]) & mask;
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            row[c] = (row[c] + cell[row[c]]) & mask;
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c)
            best[c] = __half_as_short(coupling[row[c] * LANES + lane]);
#pragma unroll
        for (int c = 0; c < TOGETHER; ++c) {
            // ordered as integers, the lane in the low bits
            const int key = best[c] < 0 ? best[c] ^ 0x7fff : best[c];
            const int top = __reduce_max_sync(0xffffffffu, key * LANES + (int)lane);
            const int won = top >> 5;
            sum[c] += __half2float(__short_as_half((short)(won < 0 ? won ^ 0x7fff : won)));
            site[c] = scatter(row[c] * LANES + (top & 31) + step) & mask;
        }
    }
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c)
        if (lane == c)
            gained[warp * TOGETHER + c] = sum[c];
}
