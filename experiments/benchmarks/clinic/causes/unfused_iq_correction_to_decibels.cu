// Planted: receiver correction, power and decibels as three kernels that hand samples on through device memory.
// Repair: one kernel.
/* rooftree
[shape]
n = 41943040
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "iq"
role = "input"
shape = ["n", 2]
[[buffer]]
name = "level"
role = "output"
shape = ["n"]
[[workspace]]
name = "balanced"
size = "2 * n"
[[workspace]]
name = "power"
size = "n"
[cost]
bytes = "12 * n"
flops = "11 * n"
[[launch]]
kernel = "balance"
grid = ["n // 512"]
block = [256]
args = ["iq", "balanced"]
when = "REPAIRED == 0"
[[launch]]
kernel = "detect"
grid = ["n // 512"]
block = [256]
args = ["balanced", "power"]
when = "REPAIRED == 0"
[[launch]]
kernel = "decibels"
grid = ["n // 1024"]
block = [256]
args = ["power", "level"]
when = "REPAIRED == 0"
[[launch]]
kernel = "receive"
grid = ["n // 512"]
block = [256]
args = ["iq", "level"]
when = "REPAIRED == 1"
*/
#define INDEX (blockIdx.x * 256 + threadIdx.x)  // a float4 is two complex samples

__device__ float2 balanced_of(float i, float q)  // offset, then gain and phase error of the Q branch
{
    i -= 0.013f;
    q -= -0.008f;
    return make_float2(i, fmaf(1.021f, q, -0.017f * i));
}
__device__ float power_of(float2 z) { return fmaf(z.x, z.x, z.y * z.y); }
__device__ float decibels_of(float p) { return 3.0103f * __log2f(fmaxf(p, 1e-12f)); }

extern "C" __global__ void balance(const float4* __restrict__ iq, float4* __restrict__ balanced)
{
    const float4 v = iq[INDEX];
    const float2 a = balanced_of(v.x, v.y), b = balanced_of(v.z, v.w);
    balanced[INDEX] = make_float4(a.x, a.y, b.x, b.y);
}
extern "C" __global__ void detect(const float4* __restrict__ balanced, float2* __restrict__ power)
{
    const float4 v = balanced[INDEX];
    power[INDEX] = make_float2(power_of(make_float2(v.x, v.y)), power_of(make_float2(v.z, v.w)));
}
extern "C" __global__ void decibels(const float4* __restrict__ power, float4* __restrict__ level)
{
    const float4 p = power[INDEX];
    level[INDEX] = make_float4(decibels_of(p.x), decibels_of(p.y), decibels_of(p.z), decibels_of(p.w));
}
extern "C" __global__ void receive(const float4* __restrict__ iq, float2* __restrict__ level)
{
    const float4 v = iq[INDEX];
    level[INDEX] = make_float2(
        decibels_of(power_of(balanced_of(v.x, v.y))), decibels_of(power_of(balanced_of(v.z, v.w))));
}
