// Planted: each thread keeps the 144 costs it looked up, one after the other, to add them up from the
// end: 170 registers leave a block per multiprocessor to hide the look-ups. Repair: it adds as it goes.
/* rooftree
[shape]
n = 1081344
rows = 32768
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "costs"
role = "input"
shape = ["rows", 32]
[[buffer]]
name = "total"
role = "output"
shape = ["n"]
[cost]
bytes = "4 * (rows * 32 + n)"
flops = "2 * 144 * n"
[[launch]]
kernel = "seam"
grid = ["n // 256"]
block = [256]
args = ["costs", "total", "rows"]
*/
extern "C" __global__ void seam(const float* __restrict__ costs, float* total, int rows)
{
    const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
    unsigned row = i / 32 * 2654435761u;
    float kept[144], sum = 0.0f;
#pragma unroll
    for (int step = 0; step < 144; ++step) {
        const float cost = costs[row % rows * 32 + lane];
        kept[step] = cost;
        // The next row depends on what the warp's first lane just read.
        row = row * 5 + (__float_as_int(__shfl_sync(~0u, cost, 0)) & 0xffff) + step;
#if REPAIRED
        sum = sum * 0.99f + cost;
#endif
    }
#if !REPAIRED
#pragma unroll
    for (int step = 143; step >= 0; --step)
        sum = sum * 0.99f + kept[step];
#endif
    total[i] = sum;
}
