// Planted: normal deviates, price paths and averages are three kernels; deviates and prices of all steps go through
// device memory. Repair: a thread makes the deviates, walks the path and averages it in registers.
/* rooftree
[shape]
paths = 2097152
steps = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "bits"
role = "input"
dtype = "int32"
shape = ["steps", "paths"]
[[buffer]]
name = "payoff"
role = "output"
shape = ["paths"]
[[workspace]]
name = "normal"
size = "steps * paths"
[[workspace]]
name = "price"
size = "steps * paths"
[cost]
bytes = "4 * steps * paths + 4 * paths"
flops = "12 * steps * paths"
[[launch]]
kernel = "make_normals"
grid = ["steps * paths // 1024"]
block = [256]
args = ["bits", "normal"]
when = "REPAIRED == 0"
[[launch]]
kernel = "walk"
grid = ["paths // 512"]
block = [256]
args = ["normal", "price", "paths // 2"]
when = "REPAIRED == 0"
[[launch]]
kernel = "average"
grid = ["paths // 512"]
block = [256]
args = ["price", "payoff", "paths // 2"]
when = "REPAIRED == 0"
[[launch]]
kernel = "price_asian"
grid = ["paths // 512"]
block = [256]
args = ["bits", "payoff", "paths // 2"]
when = "REPAIRED == 1"
*/
constexpr int STEPS = 64;
#define INDEX (blockIdx.x * 256 + threadIdx.x)  // two paths per thread

__device__ float normal_of(int bits)  // odd polynomial for the inverse of the normal distribution
{
    const float u = bits * 4.6566e-10f, v = u * u;
    return u * fmaf(v, fmaf(v, fmaf(v, 0.61f, -0.19f), 0.33f), 1.2533f);
}
__device__ float moved(float price, float normal) { return price * fmaf(0.012f, normal, 1.0001f); }
__device__ float payoff_of(float sum) { return fmaxf(sum / STEPS - 100.0f, 0.0f); }

extern "C" __global__ void make_normals(const int4* __restrict__ bits, float4* __restrict__ normal)
{
    const int4 b = bits[INDEX];
    normal[INDEX] = make_float4(normal_of(b.x), normal_of(b.y), normal_of(b.z), normal_of(b.w));
}
extern "C" __global__ void walk(const float2* __restrict__ normal, float2* __restrict__ price, int pairs)
{
    float2 s = make_float2(100.0f, 100.0f);
#pragma unroll 8
    for (int t = 0; t < STEPS; ++t) {
        const float2 z = normal[t * pairs + INDEX];
        price[t * pairs + INDEX] = s = make_float2(moved(s.x, z.x), moved(s.y, z.y));
    }
}
extern "C" __global__ void average(const float2* __restrict__ price, float2* __restrict__ payoff, int pairs)
{
    float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll 8
    for (int t = 0; t < STEPS; ++t) {
        const float2 s = price[t * pairs + INDEX];
        sum = make_float2(sum.x + s.x, sum.y + s.y);
    }
    payoff[INDEX] = make_float2(payoff_of(sum.x), payoff_of(sum.y));
}
extern "C" __global__ void price_asian(const int2* __restrict__ bits, float2* __restrict__ payoff, int pairs)
{
    float2 s = make_float2(100.0f, 100.0f), sum = make_float2(0.0f, 0.0f);
#pragma unroll 8
    for (int t = 0; t < STEPS; ++t) {
        const int2 b = bits[t * pairs + INDEX];
        s = make_float2(moved(s.x, normal_of(b.x)), moved(s.y, normal_of(b.y)));
        sum = make_float2(sum.x + s.x, sum.y + s.y);
    }
    payoff[INDEX] = make_float2(payoff_of(sum.x), payoff_of(sum.y));
}
