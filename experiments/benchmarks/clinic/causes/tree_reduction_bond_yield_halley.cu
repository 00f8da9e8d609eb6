// Planted: Halley's method for the yields of bond portfolios, a cash flow a thread, adds value, duration and convexity up in
// a tree of nine levels at each of eight steps. Repair: a portfolio a warp, 16 cash flows a lane, and shuffles alone.
/* rooftree
[shape]
portfolios = 84480
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "flows"
role = "input"
shape = ["portfolios", 512]
[[buffer]]
name = "yields"
role = "output"
shape = ["portfolios"]
[cost]
bytes = "2052 * portfolios"
flops = "8 * 512 * 8 * portfolios"
[[launch]]
kernel = "solve_yields"
grid = ["portfolios // 8 if REPAIRED else portfolios"]
block = ["256 if REPAIRED else 512"]
args = ["flows", "yields"]
*/
constexpr float PRICE = 200.0f;

__device__ float halley(float value, float slope, float bend)
{
    const float miss = value - PRICE;
    return __fdividef(2.0f * miss * slope, 2.0f * slope * slope - miss * bend + 1e-3f);
}

extern "C" __global__ void solve_yields(const float* __restrict__ flows, float* __restrict__ yields)
{
    const int t = threadIdx.x;
    float yield = 0.0f;
#if REPAIRED
    const int portfolio = blockIdx.x * 8 + t / 32, lane = t % 32;
    float flow[16];
#pragma unroll
    for (int k = 0; k < 16; ++k)
        flow[k] = fabsf(flows[portfolio * 512 + k * 32 + lane]);
    for (int step = 0; step < 8; ++step) {
        float value = 0.0f, slope = 0.0f, bend = 0.0f;
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float years = (k * 32 + lane + 1) * (1.0f / 12.0f), now = flow[k] * __expf(-yield * years);
            value += now;
            slope += now * years;
            bend += now * years * years;
        }
        for (int d = 16; d > 0; d /= 2) {
            value += __shfl_xor_sync(~0u, value, d);
            slope += __shfl_xor_sync(~0u, slope, d);
            bend += __shfl_xor_sync(~0u, bend, d);
        }
        yield += halley(value, slope, bend);
    }
    if (lane == 0)
        yields[portfolio] = yield;
#else
    __shared__ float value[512], slope[512], bend[512];
    const float flow = fabsf(flows[blockIdx.x * 512 + t]), years = (t + 1) * (1.0f / 12.0f);
    for (int step = 0; step < 8; ++step) {
        value[t] = flow * __expf(-yield * years);
        slope[t] = value[t] * years;
        bend[t] = slope[t] * years;
        __syncthreads();
        for (int half = 256; half > 0; half /= 2) {
            if (t < half) {
                value[t] += value[t + half];
                slope[t] += slope[t + half];
                bend[t] += bend[t + half];
            }
            __syncthreads();
        }
        yield += halley(value[0], slope[0], bend[0]);
        __syncthreads();
    }
    if (t == 0)
        yields[blockIdx.x] = yield;
#endif
}
