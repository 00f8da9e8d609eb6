// Planted: the Legendre recurrence runs as a rolled loop whose body is a few multiply-adds, so that
// counting, branching and moving the two last terms cost as much. Repair: unrolled by 16.
/* rooftree
[shape]
points = 16777216
degrees = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "sine"
role = "input"
fill = "uniform"
shape = ["points"]
[[buffer]]
name = "zonal"
role = "input"
shape = ["degrees"]
[[buffer]]
name = "height"
role = "output"
shape = ["points"]
[cost]
bytes = "8 * points"
flops = "5 * points * degrees"
math = "fp32"
[[launch]]
kernel = "zonal_geoid"
grid = ["points / 512"]
block = [256]
args = ["sine", "zonal", "height"]
*/
extern "C" __global__ void zonal_geoid(const float2* sine, const float* zonal, float2* height)
{
    __shared__ float4 term[64];  // P(n+1) = x * t * P(n) - y * P(n-1), weighted by z
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float2 t = sine[i];
    if (threadIdx.x < 64) {
        const float n = threadIdx.x + 1.0f;
        term[threadIdx.x] = make_float4(2.0f - __fdividef(1.0f, n + 1.0f),
                                        1.0f - __fdividef(1.0f, n + 1.0f),
                                        zonal[threadIdx.x], 0.0f);
    }
    __syncthreads();
    float2 before = make_float2(1.0f, 1.0f), last = t, sum = make_float2(0.0f, 0.0f);
#if REPAIRED
#pragma unroll 16
#else
#pragma unroll 1
#endif
    for (int n = 0; n < 64; ++n) {
        const float4 k = term[n];
        sum.x = fmaf(k.z, last.x, sum.x);
        sum.y = fmaf(k.z, last.y, sum.y);
        const float x = fmaf(k.x * t.x, last.x, -k.y * before.x);
        const float y = fmaf(k.x * t.y, last.y, -k.y * before.y);
        before = last;
        last = make_float2(x, y);
    }
    height[i] = sum;
}
