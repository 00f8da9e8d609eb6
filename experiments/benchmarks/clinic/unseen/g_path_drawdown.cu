// Planted: each warp scans its path 32 steps at a time through shared memory, ten rounds of store and
// load for every 32 steps, each waiting for the one before. Repair: every lane walks a stretch of its
// own in registers, and the stretches are joined once, by shuffles.
/* rooftree
[shape]
paths = 16384
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "returns"
role = "input"
shape = ["paths", 6144]
[[buffer]]
name = "drawdown"
role = "output"
shape = ["paths"]
[cost]
bytes = "4 * 6144 * paths"
flops = "4 * 6144 * paths"
[[launch]]
kernel = "max_drawdown"
grid = ["paths // 4"]
block = [128]
shared = "4 * 4 * (32 * 193 + 128)"
args = ["returns", "drawdown"]
*/
#define STEPS 6144
#define STRETCH (STEPS / 32)
#define PITCH (STRETCH + 1)
#define FULL 0xffffffffu
#define FAR 3.0e38f

extern __shared__ float staged[];

// The largest fall of the equity below its earlier peak; the equity starts at zero.
extern "C" __global__ void __launch_bounds__(128, 2) max_drawdown(const float* __restrict__ returns,
    float* __restrict__ drawdown)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, path = blockIdx.x * 4 + warp;
    float* steps = staged + warp * (32 * PITCH + 128);
    const float* source = returns + (size_t)path * STEPS;
#pragma unroll 4
    for (int p = 0; p < 32; ++p)
#pragma unroll
        for (int j = 0; j < STRETCH; j += 32)
            steps[p * PITCH + j + lane] = source[p * STRETCH + j + lane];
    float worst = 0.0f;
#if REPAIRED
    __syncwarp();
    const float* mine = steps + lane * PITCH;
    float equity = 0.0f, high = -FAR, low = FAR;
#pragma unroll 16
    for (int i = 0; i < STRETCH; ++i) {
        equity += mine[i];
        high = fmaxf(high, equity), low = fminf(low, equity);
        worst = fmaxf(worst, high - equity);
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const float next_low = equity + __shfl_down_sync(FULL, low, d);
        const float next_high = equity + __shfl_down_sync(FULL, high, d);
        const float next_worst = __shfl_down_sync(FULL, worst, d);
        worst = fmaxf(fmaxf(worst, next_worst), high - next_low);
        high = fmaxf(high, next_high), low = fminf(low, next_low);
        equity += __shfl_down_sync(FULL, equity, d);
    }
    worst = fmaxf(worst, -low);
#else
    // 32 neutral elements in front, so that no lane need ask whether it has a neighbour.
    volatile float* sums = steps + 32 * PITCH + 32;
    volatile float* tops = sums + 64;
    sums[lane - 32] = 0.0f, tops[lane - 32] = -FAR;
    float start = 0.0f, peak = 0.0f;
    for (int p = 0; p < 32; ++p)
        for (int j = 0; j < STRETCH; j += 32) {
            __syncwarp();
            float sum = steps[p * PITCH + j + lane];
            sums[lane] = sum;
#pragma unroll
            for (int d = 1; d < 32; d *= 2) {
                __syncwarp();
                sum += sums[lane - d];
                __syncwarp();
                sums[lane] = sum;
            }
            const float equity = start + sum;
            float top = equity;
            tops[lane] = top;
#pragma unroll
            for (int d = 1; d < 32; d *= 2) {
                __syncwarp();
                top = fmaxf(top, tops[lane - d]);
                __syncwarp();
                tops[lane] = top;
            }
            worst = fmaxf(worst, fmaxf(top, peak) - equity);
            __syncwarp();
            start += sums[31], peak = fmaxf(peak, tops[31]);
        }
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
        worst = fmaxf(worst, __shfl_xor_sync(FULL, worst, d));
#endif
    if (lane == 0)
        drawdown[path] = worst;
}
