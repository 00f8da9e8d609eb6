// Planted: each block of 64 threads asks for 100 KB of shared memory, so that two blocks fill a
// multiprocessor. Repair: a tile of the size it uses.
/* rooftree
[shape]
n = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "4 * n"
[[launch]]
kernel = "smooth"
grid = ["n // 256"]
block = [64]
args = ["x", "y"]
shared = "2048 if REPAIRED else 102400"
*/
extern __shared__ float4 tile[];

extern "C" __global__ void smooth(const float4* x, float4* y)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = x[i];
    __syncthreads();
    const float4 a = tile[threadIdx.x], b = tile[threadIdx.x ^ 1];
    y[i] = make_float4(0.5f * (a.x + b.x), 0.5f * (a.y + b.y), 0.5f * (a.z + b.z),
        0.5f * (a.w + b.w));
}
