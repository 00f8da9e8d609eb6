// Planted: a beam-pruned Viterbi decoder finds the best of 512 states after each symbol by a shared-memory tree over score
// and state, eleven barriers a symbol. Repair: score and state in one key, the best of it within warps, two barriers.
/* rooftree
[shape]
sequences = 2112
length = 192
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "symbols"
role = "input"
dtype = "int32"
shape = ["sequences", "length"]
[[buffer]]
name = "emission"
role = "input"
dtype = "int32"
shape = [32, 512]
[[buffer]]
name = "decoded"
role = "output"
dtype = "int32"
shape = ["sequences", "length"]
[cost]
bytes = "8 * sequences * length + 65536"
flops = "10 * 512 * sequences * length"
math = "int32"
[[launch]]
kernel = "decode"
grid = ["sequences"]
block = [512]
args = ["symbols", "emission", "decoded", "length"]
*/
constexpr int STATES = 512, BEAM = 2000, PRUNED = -(1 << 20);

extern "C" __global__ void decode(const int* __restrict__ symbols, const int* __restrict__ emission,
    int* __restrict__ decoded, int length)
{
    __shared__ int before[STATES + 2], scores[STATES];
    const int s = threadIdx.x;
    const int* sequence = symbols + blockIdx.x * length;
    before[s + 2] = s == 0 ? 0 : PRUNED;  // two states that never are stand before the first
    if (s < 2)
        before[s] = PRUNED;
    int ahead = emission[(sequence[0] & 31) * STATES + s];
    for (int i = 0; i < length; ++i) {
        const int emitted = ahead & 1023;
        ahead = emission[(sequence[min(i + 1, length - 1)] & 31) * STATES + s];
        __syncthreads();
        const int mine = max(before[s + 2], max(before[s + 1] - 40, before[s] - 90)) + emitted;
#if REPAIRED
        int key = __reduce_max_sync(~0u, mine * STATES + STATES - 1 - s);
        if (s % 32 == 0)
            scores[s / 32] = key;
        __syncthreads();
        key = __reduce_max_sync(~0u, scores[s % 16]);
        const int best = key >> 9, state = STATES - 1 - (key & (STATES - 1));
#else
        __shared__ int states[STATES];
        scores[s] = mine;
        states[s] = s;
        __syncthreads();
        for (int half = STATES / 2; half > 0; half /= 2) {
            if (s < half) {
                const int other = scores[s + half], its = states[s + half];
                if (other > scores[s] || (other == scores[s] && its < states[s])) {
                    scores[s] = other;
                    states[s] = its;
                }
            }
            __syncthreads();
        }
        const int best = scores[0], state = states[0];
#endif
        before[s + 2] = mine < best - BEAM ? PRUNED : mine;
        if (s == 0)
            decoded[blockIdx.x * length + i] = state;
    }
}
