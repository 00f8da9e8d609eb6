// Planted: neighbouring lanes hold oscillators of four kinds, so that each warp runs all four loops
// with a quarter of its lanes. Repair: the array is sorted by kind.
/* rooftree
[shape]
n = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "start"
role = "input"
shape = ["n"]
fill = "uniform"
[[buffer]]
name = "end"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "8 * 128 * n"
[[launch]]
kernel = "integrate"
grid = ["n // 256"]
block = [256]
args = ["start", "end", "n"]
*/
constexpr int STEPS = 128;
constexpr float DT = 0.01f;

template <typename Force> __device__ float integrated(float x, Force force)
{
    float v = 0.0f;
#pragma unroll 8
    for (int step = 0; step < STEPS; ++step) {
        v += DT * force(x, v);
        x += DT * v;
    }
    return x;
}

extern "C" __global__ void integrate(const float* __restrict__ start, float* __restrict__ end, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int kind = REPAIRED ? i / (n / 4) : i % 4;
    const float x = start[i];
    switch (kind) {
    case 0:  // damped
        end[i] = integrated(x, [](float x, float v) { return -0.3f * v - 0.9f * x * (1.0f + 0.1f * v); });
        break;
    case 1:  // Duffing
        end[i] = integrated(x, [](float x, float v) { return x * (1.0f - x * x) - 0.2f * v; });
        break;
    case 2:  // van der Pol
        end[i] = integrated(x, [](float x, float v) { return 1.5f * v * (1.0f - x * x) - x; });
        break;
    default:  // pendulum, its sine to fifth order
        end[i] = integrated(x, [](float x, float v) {
            return x * (x * x * (1.0f / 6 - x * x * (1.0f / 120)) - 1.0f);
        });
    }
}
