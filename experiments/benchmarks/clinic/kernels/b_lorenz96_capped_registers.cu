// Planted: __launch_bounds__ asks for 8 blocks per SM, 32 registers, where an ensemble member needs
// twice as many: the rest spills to local memory. Repair: no such bound.
/* rooftree
[shape]
n = 1048576
sites = 16
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "start"
role = "input"
shape = ["sites", "n"]
[[buffer]]
name = "end"
role = "output"
shape = ["sites", "n"]
[cost]
bytes = "8 * sites * n"
flops = "40 * 16 * sites * n"
[[launch]]
kernel = "lorenz96"
grid = ["n // 256"]
block = [256]
args = ["start", "end", "n"]
*/
constexpr int SITES = 16, STEPS = 16;
constexpr float FORCING = 8.0f, DT = 0.002f;

#if REPAIRED
#define BOUNDS __launch_bounds__(256)
#else
#define BOUNDS __launch_bounds__(256, 8)
#endif

// One stage of Runge-Kutta: total += weight * slope(at), next = x + reach * slope(at).
__device__ void stage(float (&total)[SITES], float (&next)[SITES], const float (&x)[SITES],
    const float (&at)[SITES], float weight, float reach)
{
    float slope[SITES];
#pragma unroll
    for (int i = 0; i < SITES; ++i)
        slope[i] = (at[(i + 1) % SITES] - at[(i + 14) % SITES]) * at[(i + 15) % SITES] - at[i] + FORCING;
#pragma unroll
    for (int i = 0; i < SITES; ++i) {
        total[i] += weight * slope[i];
        next[i] = x[i] + reach * slope[i];
    }
}

extern "C" __global__ void BOUNDS lorenz96(
    const float* __restrict__ start, float* __restrict__ end, int n)
{
    const int member = blockIdx.x * blockDim.x + threadIdx.x;
    float x[SITES], total[SITES], at[SITES];
#pragma unroll
    for (int i = 0; i < SITES; ++i)
        total[i] = x[i] = start[i * n + member];
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
        stage(total, at, x, x, DT / 6, DT / 2);
        stage(total, at, x, at, DT / 3, DT / 2);
        stage(total, at, x, at, DT / 3, DT);
        stage(total, at, x, at, DT / 6, 0.0f);
#pragma unroll
        for (int i = 0; i < SITES; ++i)
            x[i] = total[i];
    }
#pragma unroll
    for (int i = 0; i < SITES; ++i)
        end[i * n + member] = x[i];
}
