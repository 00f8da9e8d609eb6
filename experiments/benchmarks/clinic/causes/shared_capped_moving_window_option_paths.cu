// Planted: an option on the best 16-day average keeps all 256 fixings of its 64 paths in shared memory, 64 KB a block.
// Repair: a ring of the 16 fixings that the average still needs.
/* rooftree
[shape]
paths = 524288
days = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "shocks"
role = "input"
shape = ["days", "paths"]
[[buffer]]
name = "payoffs"
role = "output"
shape = ["paths"]
[cost]
bytes = "4 * paths * days + 4 * paths"
flops = "8 * paths * days"
[[launch]]
kernel = "best_average"
grid = ["paths // 64"]
block = [64]
shared = "4096 if REPAIRED else 65536"
args = ["shocks", "payoffs", "paths"]
*/
constexpr int DAYS = 256, WINDOW = 16;
extern __shared__ float fixings[];

extern "C" __global__ void best_average(const float* __restrict__ shocks, float* __restrict__ payoffs, int paths)
{
    const int t = threadIdx.x, path = blockIdx.x * 64 + t;
    float spot = 100.0f, window = 0.0f, best = 0.0f;
#if REPAIRED
    for (int k = 0; k < WINDOW; ++k)
        fixings[k * 64 + t] = 0.0f;
#pragma unroll 4
    for (int day = 0; day < DAYS; ++day) {
        spot *= __expf(0.0126f * shocks[day * paths + path] + 2e-5f);
        float* slot = &fixings[day % WINDOW * 64 + t];
        window += spot - *slot;
        *slot = spot;
        best = fmaxf(best, window);
    }
#else
#pragma unroll 4
    for (int day = 0; day < DAYS; ++day) {
        spot *= __expf(0.0126f * shocks[day * paths + path] + 2e-5f);
        fixings[day * 64 + t] = spot;
    }
#pragma unroll 4
    for (int day = 0; day < DAYS; ++day) {
        window += fixings[day * 64 + t] - (day < WINDOW ? 0.0f : fixings[(day - WINDOW) * 64 + t]);
        best = fmaxf(best, window);
    }
#endif
    payoffs[path] = fmaxf(best / WINDOW - 105.0f, 0.0f);
}
