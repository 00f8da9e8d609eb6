// Planted: a binomial lattice is rolled back in shared memory, a node per thread and two barriers per time step.
// Repair: a warp per option, 32 nodes per lane in registers, the neighbour's node by shuffle.
/* rooftree
[shape]
options = 2112
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "moneyness"
role = "input"
fill = "uniform"
shape = ["options"]
[[buffer]]
name = "volatility"
role = "input"
fill = "uniform"
shape = ["options"]
[[buffer]]
name = "premium"
role = "output"
shape = ["options"]
[cost]
bytes = "12 * options"
flops = "2619392 * options"
[[launch]]
kernel = "american_put"
grid = ["options // 4 if REPAIRED else options"]
block = ["128 if REPAIRED else 1024"]
args = ["moneyness", "volatility", "premium"]
*/
constexpr int NODES = 1024;  // at expiry, after NODES - 1 steps of a year in all
constexpr float STRIKE = 100.0f, RATE = 0.03f, DT = 1.0f / (NODES - 1);

extern "C" __global__ void __launch_bounds__(REPAIRED ? 128 : 1024) american_put(
    const float* __restrict__ moneyness, const float* __restrict__ volatility, float* __restrict__ premium)
{
    const int lane = threadIdx.x % 32, option = REPAIRED ? blockIdx.x * 4 + threadIdx.x / 32 : blockIdx.x;
    const float move = (0.3f + 0.1f * fminf(fmaxf(volatility[option], -1.0f), 1.0f)) * sqrtf(DT);  // of the logarithm
    const float up = expf(move), down = 1.0f / up, discount = expf(-RATE * DT);
    const float rise = (1.0f - discount * down) / (up - down), fall = discount - rise;  // discounted odds
    const float spot = STRIKE * expf(0.1f * moneyness[option]);
#if REPAIRED
    float value[32], price[32];
#pragma unroll
    for (int k = 0; k < 32; ++k) {
        price[k] = spot * expf(move * (2 * (lane * 32 + k) - NODES + 1));
        value[k] = fmaxf(STRIKE - price[k], 0.0f);
    }
    for (int step = NODES - 2; step >= 0; --step) {
        const float above = __shfl_down_sync(~0u, value[0], 1);
#pragma unroll
        for (int k = 0; k < 32; ++k) {
            price[k] *= up;
            value[k] = fmaxf(STRIKE - price[k], rise * (k < 31 ? value[(k + 1) % 32] : above) + fall * value[k]);
        }
    }
    if (lane == 0) premium[option] = value[0];
#else
    __shared__ float values[NODES];
    const int node = threadIdx.x;
    float price = spot * expf(move * (2 * node - NODES + 1)), value = fmaxf(STRIKE - price, 0.0f);
    values[node] = value;
    __syncthreads();
    for (int step = NODES - 2; step >= 0; --step) {
        if (node <= step) {
            price *= up;
            value = fmaxf(STRIKE - price, rise * values[node + 1] + fall * value);
        }
        __syncthreads();
        if (node <= step) values[node] = value;
        __syncthreads();
    }
    if (node == 0) premium[option] = value;
#endif
}
