// Planted: Horner's scheme is one chain of multiply-adds, and a multiprocessor has four warps.
// Repair: eight interleaved chains in the eighth power of the discount.
/* rooftree
[shape]
payments = 131072
scenarios = 16896
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "schedule"
role = "input"
shape = ["payments"]
[[buffer]]
name = "shocks"
role = "input"
shape = ["scenarios"]
fill = "uniform"
[[buffer]]
name = "values"
role = "output"
shape = ["scenarios"]
[cost]
bytes = "4 * payments + 8 * scenarios"
flops = "2 * payments * scenarios"
[[launch]]
kernel = "present_value"
grid = ["scenarios // 128"]
block = [128]
args = ["schedule", "shocks", "values", "payments"]
*/
#define TILE 2048
#define QUADS (TILE / 4 / 128)

// Value today of a book's payments (the last one first in the schedule), for a discount factor per
// scenario.
extern "C" __global__ void __launch_bounds__(128) present_value(const float4* __restrict__ schedule,
    const float* __restrict__ shocks, float* __restrict__ values, int count)
{
    __shared__ float4 tile[2][TILE / 4];
    const int t = threadIdx.x, scenario = blockIdx.x * 128 + t;
    const float d = 0.995f + 0.004f * shocks[scenario];
#if REPAIRED
    const float d2 = d * d, d4 = d2 * d2, d8 = d4 * d4;
    float h[8] = {};
#else
    float pv = 0.0f;
#endif

    float4 next[QUADS];
#pragma unroll
    for (int q = 0; q < QUADS; ++q)
        next[q] = schedule[q * 128 + t];

    for (int base = 0, now = 0; base < count / 4; base += TILE / 4, now ^= 1) {
#pragma unroll
        for (int q = 0; q < QUADS; ++q)
            tile[now][q * 128 + t] = next[q];
        __syncthreads();
        if (base + TILE / 4 < count / 4) {
#pragma unroll
            for (int q = 0; q < QUADS; ++q)
                next[q] = schedule[base + TILE / 4 + q * 128 + t];
        }
#pragma unroll 8
        for (int k = 0; k < TILE / 4; k += 2) {
            const float4 a = tile[now][k], b = tile[now][k + 1];
#if REPAIRED
            h[0] = fmaf(h[0], d8, a.x), h[1] = fmaf(h[1], d8, a.y);
            h[2] = fmaf(h[2], d8, a.z), h[3] = fmaf(h[3], d8, a.w);
            h[4] = fmaf(h[4], d8, b.x), h[5] = fmaf(h[5], d8, b.y);
            h[6] = fmaf(h[6], d8, b.z), h[7] = fmaf(h[7], d8, b.w);
#else
            pv = fmaf(pv, d, a.x), pv = fmaf(pv, d, a.y);
            pv = fmaf(pv, d, a.z), pv = fmaf(pv, d, a.w);
            pv = fmaf(pv, d, b.x), pv = fmaf(pv, d, b.y);
            pv = fmaf(pv, d, b.z), pv = fmaf(pv, d, b.w);
#endif
        }
    }

#if REPAIRED
    float pv = h[0];
#pragma unroll
    for (int j = 1; j < 8; ++j)
        pv = fmaf(pv, d, h[j]);
#endif
    values[scenario] = pv;
}
