// Planted: 133 long blocks of 1024 threads, one per multiprocessor by their registers; the last runs
// alone. Repair: the same paths in blocks of 64 threads, about 16 on each multiprocessor at once.
/* rooftree
[shape]
contracts = 1064
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "volatility"
role = "input"
fill = "uniform"
shape = ["contracts"]
[[buffer]]
name = "payoff"
role = "output"
shape = ["contracts", 128]
[cost]
bytes = "4 * contracts * 129"
flops = "contracts * 128 * 16 * 128 * 12"
[[launch]]
kernel = "asian_paths"
grid = ["contracts * 2 if REPAIRED else contracts // 8"]
block = ["64 if REPAIRED else 1024"]
args = ["volatility", "payoff"]
*/
constexpr int PATHS = 16, STEPS = 128;  // per thread; 128 threads share a contract
constexpr float DT = 1.0f / STEPS;

__device__ float uniform(unsigned& state)
{
    state = state * 747796405u + 2891336453u;
    const unsigned word = ((state >> 15) ^ state) * 277803737u;
    return __uint_as_float(0x3f800000u | word >> 9) - 0.99999994f;  // in (0, 1]
}

extern "C" __global__ void __launch_bounds__(REPAIRED ? 64 : 1024)
    asian_paths(const float* __restrict__ volatility, float* __restrict__ payoff)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sigma = 0.25f + 0.1f * volatility[i / 128];
    const float drift = (0.03f - 0.5f * sigma * sigma) * DT, spread = sigma * 0.088388348f;
    float path[PATHS] = {}, sum[PATHS] = {};
    unsigned state[PATHS / 2];
    for (int p = 0; p < PATHS / 2; ++p)
        state[p] = (i * (PATHS / 2) + p) * 2654435761u + 12345u;
    for (int step = 0; step < STEPS; ++step)
#pragma unroll
        for (int p = 0; p < PATHS; p += 2) {  // Box-Muller gives two normals at a time
            const float square = fmaxf(-2.0f * __logf(uniform(state[p / 2])), 1e-12f);
            const float radius = square * rsqrtf(square) * spread;
            const float angle = 6.2831853f * uniform(state[p / 2]);
            path[p] += drift + radius * __cosf(angle);
            path[p + 1] += drift + radius * __sinf(angle);
            sum[p] += __expf(path[p]);
            sum[p + 1] += __expf(path[p + 1]);
        }
    float total = 0.0f;
    for (int p = 0; p < PATHS; ++p)
        total += fmaxf(sum[p] * DT - 1.0f, 0.0f);
    payoff[i] = total * (1.0f / PATHS);
}
