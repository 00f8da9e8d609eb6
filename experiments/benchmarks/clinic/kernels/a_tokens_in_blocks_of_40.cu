// Planted: blocks of 40 threads: 24 of every second warp's lanes are empty, and 32 blocks fill a
// multiprocessor with few threads. Repair: blocks of 160 threads, five full warps.
/* rooftree
[shape]
tokens = 1048576
width = 40
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["tokens", "width"]
[[buffer]]
name = "y"
role = "output"
shape = ["tokens", "width"]
[cost]
bytes = "8 * tokens * width"
flops = "3 * tokens * width"
[[launch]]
kernel = "embed"
grid = ["tokens // 4 if REPAIRED else tokens"]
block = ["160 if REPAIRED else 40"]
args = ["x", "y"]
*/
extern "C" __global__ void embed(const float* __restrict__ x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float v = x[i];
    y[i] = v * v * 0.5f + v;
}
