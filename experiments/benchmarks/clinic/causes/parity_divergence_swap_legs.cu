// Planted: a swap's fixed and floating leg are neighbours in the book, so each warp runs both loops
// with half of its lanes. Repair: of two warps one takes the fixed legs, the other the floating ones.
/* rooftree
[shape]
legs = 2097152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "rate"
role = "input"
fill = "uniform"
shape = ["legs"]
[[buffer]]
name = "value"
role = "output"
shape = ["legs"]
[cost]
bytes = "8 * legs"
flops = "legs * 120 * 20"
[[launch]]
kernel = "value_legs"
grid = ["legs // 256"]
block = [256]
args = ["rate", "value"]
*/
constexpr int PERIODS = 120;  // quarters

// Discount factor of a Nelson-Siegel curve, whose level is shifted by `shift`.
__device__ float discount(float t, float shift)
{
    const float decay = __expf(-0.6f * t);
    return __expf(-(0.03f + shift) * t + 0.02f * (1.0f - decay) + 0.01f * t * decay);
}

extern "C" __global__ void value_legs(const float* __restrict__ rate, float* __restrict__ value)
{
    int leg = blockIdx.x * 256 + threadIdx.x;
#if REPAIRED
    leg = leg / 64 * 64 + leg % 32 * 2 + leg / 32 % 2;
#endif
    const float quote = 0.01f * rate[leg];
    float sum = 0.0f;
    if (leg % 2 == 0) {  // fixed: coupons that step up, less the credit charge of a hazard rate
#pragma unroll 4
        for (int period = 1; period <= PERIODS; ++period) {
            const float t = 0.25f * period;
            const float coupon = 0.02f + quote * (1.0f + 0.01f * t);
            const float survival = 1.0f - 0.01f * t + 0.00004f * t * t;
            sum += coupon * survival * discount(t, quote);
        }
        sum = sum * 0.25f + discount(0.25f * PERIODS, quote);
    } else {  // floating: forwards off the curve, a convexity term, and a margin with a floor
        float before = 1.0f;
#pragma unroll 4
        for (int period = 1; period <= PERIODS; ++period) {
            const float t = 0.25f * period, after = discount(t, 0.002f);
            const float forward = before - after;
            const float convexity = 0.0001f * t * forward * forward;
            sum += fmaxf(forward + convexity + quote * after, 0.001f * after);
            before = after;
        }
        sum += before;
    }
    value[leg] = sum;
}
