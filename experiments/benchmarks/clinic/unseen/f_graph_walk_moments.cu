// Planted: every lane keeps all 128 features it has seen on the walk in registers, for a variance in
// two passes: one block of 8 warps fills a multiprocessor's registers. Repair: running sums around
// the first value, so that occupancy is full.
/* rooftree
[shape]
nodes = 131072
walks = 32768
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "features"
role = "input"
shape = ["nodes", "32"]
[[buffer]]
name = "mean"
role = "output"
shape = ["walks", "32"]
[[buffer]]
name = "spread"
role = "output"
shape = ["walks", "32"]
[cost]
bytes = "128 * nodes + 256 * walks"
flops = "walks * 32 * 128 * 4"
[[launch]]
kernel = "walk_moments"
grid = ["walks // 8"]
block = [256]
args = ["features", "mean", "spread", "nodes"]
*/
constexpr int LENGTH = 128;  // steps of a walk
constexpr int WIDTH = 32;    // features of a node: one per lane

// Where a walk goes next depends on the features of the node where it is.
__device__ __forceinline__ unsigned follow(unsigned node, float feature, int step, unsigned mask)
{
    const unsigned vote = __shfl_sync(0xffffffffu, __float_as_uint(feature), step & 31);
    const unsigned mixed = (node ^ vote ^ step) * 2654435761u;
    return (mixed ^ mixed >> 15) & mask;
}

extern "C" __global__ void __launch_bounds__(256) walk_moments(const float* __restrict__ features,
    float* __restrict__ mean, float* __restrict__ spread, int nodes)
{
    const unsigned walk = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned mask = nodes - 1;
    unsigned node = walk * 40503u & mask;
#if REPAIRED
    const float first = features[node * WIDTH + lane];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 4
    for (int step = 0; step < LENGTH; ++step) {
        const float value = features[node * WIDTH + lane];
        const float away = value - first;
        sum += away;
        squares = fmaf(away, away, squares);
        node = follow(node, value, step, mask);
    }
    const float centre = first + sum * (1.0f / LENGTH);
    const float variance = (squares - sum * sum * (1.0f / LENGTH)) * (1.0f / LENGTH);
#else
    float seen[LENGTH];
#pragma unroll
    for (int step = 0; step < LENGTH; ++step) {
        seen[step] = features[node * WIDTH + lane];
        node = follow(node, seen[step], step, mask);
    }
    float sum = 0.0f;
#pragma unroll
    for (int step = 0; step < LENGTH; ++step)
        sum += seen[step];
    const float centre = sum * (1.0f / LENGTH);
    float squares = 0.0f;
#pragma unroll
    for (int step = 0; step < LENGTH; ++step)
        squares = fmaf(seen[step] - centre, seen[step] - centre, squares);
    const float variance = squares * (1.0f / LENGTH);
#endif
    mean[walk * WIDTH + lane] = centre;
    spread[walk * WIDTH + lane] = variance;
}
