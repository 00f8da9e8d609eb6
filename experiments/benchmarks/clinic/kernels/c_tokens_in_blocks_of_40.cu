// Planted: a block per token of 40 features: its second warp has 8 of 32 lanes at work. Repair:
// blocks of 160 threads, four tokens in five full warps.
/* rooftree
[shape]
tokens = 524288
width = 40
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
fill = "uniform"
shape = ["tokens", "width"]
[[buffer]]
name = "y"
role = "output"
shape = ["tokens", "width"]
[cost]
bytes = "8 * tokens * width"
flops = "512 * tokens * width"
[[launch]]
kernel = "equilibrium"
grid = ["tokens // 4 if REPAIRED else tokens"]
block = ["160 if REPAIRED else 40"]
args = ["x", "y"]
*/
extern "C" __global__ void equilibrium(const float* __restrict__ x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float target = x[i];
    float v = target;
#pragma unroll 32
    for (int step = 0; step < 128; ++step)  // v -> the fixed point of v + v * v / 4 = target
        v = v * 0.5f + (target - v * v * 0.25f) * 0.5f;
    y[i] = v;
}
