// Planted: one field per load out of records of 8 floats, so that lanes lie 32 bytes apart.
// Repair: the table is stored by column; lanes read neighbouring values, four at a time.
/* rooftree
[shape]
n = 12582912
fields = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "trades"
role = "input"
shape = ["n * fields"]
[[buffer]]
name = "notional"
role = "output"
shape = ["n"]
[cost]
bytes = "16 * n"
flops = "3 * n"
[[launch]]
kernel = "trade_notional"
grid = ["n // 1024 if REPAIRED else n // 256"]
block = [256]
args = ["trades", "notional", "n"]
*/
constexpr int PRICE = 1, VOLUME = 4, RATE = 6;

extern "C" __global__ void trade_notional(
    const float* __restrict__ trades, float* __restrict__ notional, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if REPAIRED
    const float4 p = ((const float4*)(trades + PRICE * n))[i];
    const float4 v = ((const float4*)(trades + VOLUME * n))[i];
    const float4 r = ((const float4*)(trades + RATE * n))[i];
    ((float4*)notional)[i] = make_float4(
        p.x * v.x * (1.0f + r.x), p.y * v.y * (1.0f + r.y),
        p.z * v.z * (1.0f + r.z), p.w * v.w * (1.0f + r.w));
#else
    constexpr int FIELDS = 8;
    const float price = trades[i * FIELDS + PRICE];
    const float volume = trades[i * FIELDS + VOLUME];
    const float rate = trades[i * FIELDS + RATE];
    notional[i] = price * volume * (1.0f + rate);
#endif
}
