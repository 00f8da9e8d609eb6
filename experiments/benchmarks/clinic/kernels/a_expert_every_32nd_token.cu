// Planted: one token in 32 takes the expensive expert, so that 31 lanes of every warp wait for it.
// Repair: tokens come grouped by expert, so that whole warps take one way.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
fill = "uniform"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "64 * n"
[[launch]]
kernel = "experts"
grid = ["n / 256"]
block = [256]
args = ["x", "y"]
*/
extern "C" __global__ void experts(const float* x, float* y)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
#if REPAIRED
    const bool expensive = i / 32 % 32 == 0;
#else
    const bool expensive = (i * 7 + i / 32) % 32 == 0;
#endif
    float v = x[i], u = v * 0.5f;
    const int steps = expensive ? 512 : 16;
#pragma unroll 8
    for (int s = 0; s < steps; ++s) {
        v = v * 0.999f + 0.01f;
        u = u * 0.998f + 0.02f;
    }
    y[i] = v + u;
}
