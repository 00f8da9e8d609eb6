// Planted: 280 equal, long blocks of 1024 threads where 264 fit at a time: the last 16 run almost
// alone for as long as all others together. Repair: the same work in 4480 short blocks.
/* rooftree
[shape]
n = 4587520
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
flops = "1024 * n"
[[launch]]
kernel = "iterate"
grid = ["4480 if REPAIRED else 280"]
block = [1024]
args = ["x", "y", "n"]
*/
extern "C" __global__ void iterate(const float* __restrict__ x, float* y, int n)
{
    const int share = n / gridDim.x;
    for (int i = blockIdx.x * share + threadIdx.x; i < (blockIdx.x + 1) * share; i += 1024) {
        float v = x[i];
#pragma unroll 16
        for (int k = 0; k < 512; ++k)
            v = v * 0.999f + 0.001f;
        y[i] = v;
    }
}
