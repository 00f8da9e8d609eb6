// Planted: a random generator keeps its 17 lagged values in an array indexed by running variables,
// so that the array lives in local memory. Repair: 17 draws unrolled, all indexes constant.
/* rooftree
[shape]
n = 1048576
rounds = 60
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "seed"
role = "input"
shape = ["n"]
fill = "uniform"
[[buffer]]
name = "mean_square"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "4 * 17 * rounds * n"
[[launch]]
kernel = "lagged_fibonacci"
grid = ["n // 256"]
block = [256]
args = ["seed", "mean_square", "rounds"]
*/
constexpr int LONG = 17, SHORT = 5;  // u[k] = u[k - 17] - u[k - 5] modulo 1

extern "C" __global__ void lagged_fibonacci(
    const float* __restrict__ seed, float* __restrict__ mean_square, int rounds)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float u[LONG], sum = 0.0f, x = 0.5f + 0.5f * seed[thread];
#pragma unroll
    for (int i = 0; i < LONG; ++i) {
        x = 3.99f * x * (1.0f - x);
        u[i] = x;
    }
#if REPAIRED
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < LONG; ++i) {
            float draw = u[i] - u[(i + LONG - SHORT) % LONG];
            draw += draw < 0.0f ? 1.0f : 0.0f;
            u[i] = draw;
            sum += draw * draw;
        }
    }
#else
    int i = 0, j = LONG - SHORT;
    for (int draws = 0; draws < rounds * LONG; ++draws) {
        float draw = u[i] - u[j];
        draw += draw < 0.0f ? 1.0f : 0.0f;
        u[i] = draw;
        sum += draw * draw;
        i = i + 1 == LONG ? 0 : i + 1;
        j = j + 1 == LONG ? 0 : j + 1;
    }
#endif
    mean_square[thread] = sum / (rounds * LONG);
}
