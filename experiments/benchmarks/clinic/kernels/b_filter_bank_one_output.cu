// Planted: a thread computes one output of one filter, so that every multiply-add loads its sample
// from L1 again. Repair: four outputs of four filters per thread, the window held in registers.
/* rooftree
[shape]
n = 4194304
taps = 128
filters = 4
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n + taps"]
[[buffer]]
name = "h"
role = "input"
shape = ["filters", "taps"]
[[buffer]]
name = "y"
role = "output"
shape = ["filters", "n"]
[cost]
bytes = "4 * n * (1 + filters)"
flops = "2 * n * taps * filters"
[[launch]]
kernel = "filter_bank"
grid = ["n // 1024 if REPAIRED else n // 256", "1 if REPAIRED else filters"]
block = [256]
args = ["x", "h", "y", "n"]
*/
constexpr int TAPS = 128;

__device__ float dot(float4 c, const float* w, float sum)
{
    sum += c.x * w[0];
    sum += c.y * w[1];
    sum += c.z * w[2];
    return sum + c.w * w[3];
}

extern "C" __global__ void filter_bank(
    const float* __restrict__ x, const float4* __restrict__ h, float* __restrict__ y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if REPAIRED
    constexpr int FILTERS = 4;
    float sum[FILTERS][4] = {};
    float4 now = ((const float4*)x)[i];
#pragma unroll 4
    for (int t = 0; t < TAPS / 4; ++t) {
        const float4 next = ((const float4*)x)[i + t + 1];
        const float w[7] = {now.x, now.y, now.z, now.w, next.x, next.y, next.z};
#pragma unroll
        for (int f = 0; f < FILTERS; ++f) {
            const float4 c = h[f * (TAPS / 4) + t];
#pragma unroll
            for (int o = 0; o < 4; ++o)
                sum[f][o] = dot(c, w + o, sum[f][o]);
        }
        now = next;
    }
#pragma unroll
    for (int f = 0; f < FILTERS; ++f)
        ((float4*)(y + f * n))[i] = make_float4(sum[f][0], sum[f][1], sum[f][2], sum[f][3]);
#else
    const int f = blockIdx.y;
    float sum = 0.0f;
#pragma unroll 8
    for (int t = 0; t < TAPS / 4; ++t)
        sum = dot(h[f * (TAPS / 4) + t], x + i + t * 4, sum);
    y[f * n + i] = sum;
#endif
}
