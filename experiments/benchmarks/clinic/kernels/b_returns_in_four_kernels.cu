// Planted: prices become weights in four elementwise kernels, each reading and writing DRAM.
// Repair: one kernel.
/* rooftree
[shape]
n = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "price"
role = "input"
shape = ["n"]
[[buffer]]
name = "weight"
role = "output"
shape = ["n"]
[[workspace]]
name = "scratch"
size = "n"
[cost]
bytes = "8 * n"
flops = "9 * n"
[[launch]]
kernel = "standardise"
when = "REPAIRED == 0"
grid = ["n // 1024"]
block = [256]
args = ["price", "scratch"]
[[launch]]
kernel = "clip"
when = "REPAIRED == 0"
grid = ["n // 1024"]
block = [256]
args = ["scratch", "weight"]
[[launch]]
kernel = "squash"
when = "REPAIRED == 0"
grid = ["n // 1024"]
block = [256]
args = ["weight", "scratch"]
[[launch]]
kernel = "lever"
when = "REPAIRED == 0"
grid = ["n // 1024"]
block = [256]
args = ["scratch", "weight"]
[[launch]]
kernel = "all_at_once"
when = "REPAIRED == 1"
grid = ["n // 1024"]
block = [256]
args = ["price", "weight"]
*/
__device__ float standardised(float x) { return (x - 0.05f) * 1.25f; }
__device__ float clipped(float x) { return fminf(fmaxf(x, -2.5f), 2.5f); }
__device__ float squashed(float x) { return x - 0.05f * x * x * x; }
__device__ float levered(float x) { return 1.5f * x + 0.1f * fabsf(x); }
__device__ float all(float x) { return levered(squashed(clipped(standardised(x)))); }

#define ELEMENTWISE(name, f) \
    extern "C" __global__ void name(const float4* __restrict__ from, float4* __restrict__ to) \
    { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x; \
        const float4 v = from[i]; \
        to[i] = make_float4(f(v.x), f(v.y), f(v.z), f(v.w)); \
    }

ELEMENTWISE(standardise, standardised)
ELEMENTWISE(clip, clipped)
ELEMENTWISE(squash, squashed)
ELEMENTWISE(lever, levered)
ELEMENTWISE(all_at_once, all)
