// Planted: scale, activation, mask and residual as four kernels that hand the tensor on through device
// memory. Repair: one kernel.
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
[[workspace]]
name = "scaled"
size = "n"
[[workspace]]
name = "active"
size = "n"
[cost]
bytes = "8 * n"
flops = "8 * n"
[[launch]]
kernel = "scale"
grid = ["n / 1024"]
block = [256]
args = ["x", "scaled"]
when = "REPAIRED == 0"
[[launch]]
kernel = "activate"
grid = ["n / 1024"]
block = [256]
args = ["scaled", "active"]
when = "REPAIRED == 0"
[[launch]]
kernel = "mask"
grid = ["n / 1024"]
block = [256]
args = ["active", "scaled"]
when = "REPAIRED == 0"
[[launch]]
kernel = "residual"
grid = ["n / 1024"]
block = [256]
args = ["scaled", "x", "y"]
when = "REPAIRED == 0"
[[launch]]
kernel = "all_at_once"
grid = ["n / 1024"]
block = [256]
args = ["x", "y"]
when = "REPAIRED == 1"
*/
__device__ float4 scaled_of(float4 v)
{
    return make_float4(1.7f * v.x, 1.7f * v.y, 1.7f * v.z, 1.7f * v.w);
}
__device__ float soft(float v) { return v / (1.0f + fabsf(v)); }
__device__ float4 active_of(float4 v) { return make_float4(soft(v.x), soft(v.y), soft(v.z), soft(v.w)); }
__device__ float4 masked_of(float4 v, int i)
{
    return i * 2654435761u >> 28 < 4 ? make_float4(0, 0, 0, 0) : v;
}
__device__ float4 sum_of(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
#define INDEX (blockIdx.x * 256 + threadIdx.x)

extern "C" __global__ void scale(const float4* x, float4* out) { out[INDEX] = scaled_of(x[INDEX]); }
extern "C" __global__ void activate(const float4* x, float4* out) { out[INDEX] = active_of(x[INDEX]); }
extern "C" __global__ void mask(const float4* x, float4* out) { out[INDEX] = masked_of(x[INDEX], INDEX); }
extern "C" __global__ void residual(const float4* a, const float4* b, float4* out)
{
    out[INDEX] = sum_of(a[INDEX], b[INDEX]);
}
extern "C" __global__ void all_at_once(const float4* x, float4* out)
{
    const float4 v = x[INDEX];
    out[INDEX] = sum_of(masked_of(active_of(scaled_of(v)), INDEX), v);
}
