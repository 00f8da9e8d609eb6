// Planted: 140 blocks that each fill a multiprocessor; the second wave keeps 8 of 132 busy.
// Repair: the same borrowers in 8960 short blocks.
/* rooftree
[shape]
n = 2293760
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "quality"
role = "input"
shape = ["n"]
[[buffer]]
name = "default_probability"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "72 * 128 * n"
[[launch]]
kernel = "rating_migration"
grid = ["n // 256 if REPAIRED else n // 16384"]
block = ["256 if REPAIRED else 1024"]
args = ["quality", "default_probability"]
*/
constexpr int STATES = 6, PERIODS = 128, BORROWERS = REPAIRED ? 1 : 16;  // per thread

// Yearly rate of moving between two ratings, for a borrower of quality zero.
constexpr __device__ float rate(int from, int to)
{
    return 0.05f / (1 + (from - to) * (from - to)) + 0.001f * to;
}

extern "C" __global__ void rating_migration(
    const float* __restrict__ quality, float* __restrict__ default_probability)
{
    for (int k = 0; k < BORROWERS; ++k) {
        const int i = (blockIdx.x * BORROWERS + k) * blockDim.x + threadIdx.x;
        const float pace = __expf(-0.2f * quality[i]);
        float move[STATES][STATES], now[STATES] = {1.0f};
#pragma unroll
        for (int a = 0; a < STATES; ++a) {
            move[a][a] = 1.0f;
#pragma unroll
            for (int b = 0; b < STATES; ++b) {
                if (a == b)
                    continue;
                move[a][b] = pace * rate(a, b);
                move[a][a] -= move[a][b];
            }
        }
#pragma unroll 4
        for (int period = 0; period < PERIODS; ++period) {
            float next[STATES] = {};
#pragma unroll
            for (int a = 0; a < STATES; ++a)
#pragma unroll
                for (int b = 0; b < STATES; ++b)
                    next[b] += now[a] * move[a][b];
#pragma unroll
            for (int b = 0; b < STATES; ++b)
                now[b] = next[b];
        }
        default_probability[i] = now[STATES - 1];
    }
}
