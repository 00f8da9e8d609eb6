// Planted: excitatory and inhibitory neurons alternate in memory and in the lanes, and each kind has its
// own model: every warp runs both loops with half of its lanes. Repair: even warps take the even neurons
// of two warps' worth, odd warps the odd ones.
/* rooftree
[shape]
neurons = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "state"
role = "input"
shape = ["neurons", "2"]
[[buffer]]
name = "drive"
role = "input"
shape = ["neurons"]
fill = "uniform"
[[buffer]]
name = "after"
role = "output"
shape = ["neurons", "2"]
[cost]
bytes = "20 * neurons"
flops = "1536 * neurons"
[[launch]]
kernel = "advance"
grid = ["neurons // 256"]
block = [256]
args = ["state", "drive", "after", { value = 0.005, type = "float32" }]
*/
constexpr int SUBSTEPS = 128;

// FitzHugh-Nagumo.
__device__ __forceinline__ float2 excitatory(float2 s, float current, float dt)
{
    for (int k = 0; k < SUBSTEPS; ++k) {
        const float dv = s.x - s.x * s.x * s.x * 0.33333333f - s.y + current;
        const float dw = 0.08f * (s.x + 0.7f - 0.8f * s.y);
        s.x += dt * dv;
        s.y += dt * dw;
    }
    return s;
}

// The fast subsystem of Hindmarsh and Rose.
__device__ __forceinline__ float2 inhibitory(float2 s, float current, float dt)
{
    for (int k = 0; k < SUBSTEPS; ++k) {
        const float square = s.x * s.x;
        const float dv = s.y + square * (3.0f - s.x) + current;
        const float dw = 1.0f - 5.0f * square - s.y;
        s.x += dt * dv;
        s.y += dt * dw;
    }
    return s;
}

extern "C" __global__ void __launch_bounds__(256) advance(const float2* __restrict__ state,
    const float* __restrict__ drive, float2* __restrict__ after, float dt)
{
#if REPAIRED
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int i = blockIdx.x * 256 + warp / 2 * 64 + lane * 2 + warp % 2;
#else
    const int i = blockIdx.x * 256 + threadIdx.x;
#endif
    const float2 s = state[i];
    const float current = drive[i];
    if (i % 2 == 0)
        after[i] = excitatory(s, current, dt);
    else
        after[i] = inhibitory(s, current, dt);
}
