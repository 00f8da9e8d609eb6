// Planted: at each of 128 steps a state's thread loads its 64 transition scores from L1 again.
// Repair: the thread keeps its column of the transition matrix in 64 registers for the whole sequence.
/* rooftree
[shape]
sequences = 4096
steps = 128
states = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "emission"
role = "input"
shape = ["sequences", "steps", "states"]
[[buffer]]
name = "transition"
role = "input"
shape = ["states", "states"]
[[buffer]]
name = "best"
role = "output"
shape = ["sequences", "states"]
[cost]
bytes = "4 * sequences * (steps + 1) * states"
flops = "2 * sequences * steps * states * states"
[[launch]]
kernel = "viterbi"
grid = ["sequences"]
block = ["states"]
args = ["emission", "transition", "best", "steps"]
*/
constexpr int STATES = 64;

extern "C" __global__ void __launch_bounds__(STATES) viterbi(const float* __restrict__ emission,
    const float* __restrict__ transition, float* best, int steps)
{
    __shared__ float4 score[2][STATES / 4];
    const int to = threadIdx.x;
    const float* heard = emission + blockIdx.x * steps * STATES + to;
#if REPAIRED
    float column[STATES];
#pragma unroll
    for (int from = 0; from < STATES; ++from) column[from] = transition[from * STATES + to];
#define SCORE(from) column[from]
constexpr int UNROLLED = 16;
#else
#define SCORE(from) transition[(from) * STATES + to]
constexpr int UNROLLED = 4;
#endif
    float mine = 0.0f, next = heard[0];
    for (int t = 0; t < steps; ++t) {
        ((float*)score[t % 2])[to] = mine;
        const float now = next;
        next = heard[min(t + 1, steps - 1) * STATES];
        __syncthreads();
        float a = -1e30f, b = -1e30f, c = -1e30f, d = -1e30f;
#pragma unroll UNROLLED
        for (int q = 0; q < STATES / 4; ++q) {
            const float4 s = score[t % 2][q];
            a = fmaxf(a, s.x + SCORE(q * 4));
            b = fmaxf(b, s.y + SCORE(q * 4 + 1));
            c = fmaxf(c, s.z + SCORE(q * 4 + 2));
            d = fmaxf(d, s.w + SCORE(q * 4 + 3));
        }
        mine = fmaxf(fmaxf(a, b), fmaxf(c, d)) + now;
    }
    best[blockIdx.x * STATES + to] = mine;
}
