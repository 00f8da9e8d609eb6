// Planted: the ledger is kept in 64-bit cents, the interest computed in float: each month converts the
// balance to float and the interest back. Repair: whole cents carried in a float, rounded by an addition.
/* rooftree
[shape]
loans = 16777216
months = 60
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "terms"
role = "input"
fill = "uniform"
shape = ["loans", 2]
[[buffer]]
name = "outcome"
role = "output"
shape = ["loans", 2]
[cost]
bytes = "16 * loans"
flops = "4 * months * loans"
[[launch]]
kernel = "amortise"
grid = ["loans // 512"]
block = [256]
args = ["terms", "outcome"]
*/
#define MONTHS 60
#if REPAIRED
typedef float Cents;  // whole numbers below 2^22: up to 41 943.04
__device__ Cents part(Cents sum, float rate) { return fmaf(sum, rate, 12582912.0f) - 12582912.0f; }
#else
typedef long long Cents;
__device__ Cents part(Cents sum, float rate) { return __float2ll_rn((float)sum * rate); }
#endif

// Balance and interest paid after five years of equal instalments.
__device__ float2 run_down(float size, float risk)
{
    Cents balance = (Cents)truncf(2500000.0f + 1000000.0f * size), interest_paid = 0;
    const float rate = 0.004f + 0.002f * risk;
    const Cents instalment = part(balance, 1.0f / MONTHS);
#pragma unroll 6
    for (int month = 0; month < MONTHS; ++month) {
        const Cents interest = part(balance, rate);
        interest_paid += interest;
        balance += interest - instalment;
    }
    return make_float2(0.01f * (float)balance, 0.01f * (float)interest_paid);
}

extern "C" __global__ void amortise(const float4* terms, float4* outcome)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 t = terms[i];
    const float2 a = run_down(t.x, t.y), b = run_down(t.z, t.w);
    outcome[i] = make_float4(a.x, a.y, b.x, b.y);
}
