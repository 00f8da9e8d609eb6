// Planted: each thread runs its four leaky states one after the other, every step waiting for the
// last, with one warp per scheduler. Repair: the same four states side by side.
/* rooftree
[shape]
n = 67584
steps = 16384
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
fill = "uniform"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "2 * n * steps"
[[launch]]
kernel = "leaky_states"
grid = ["n // 512"]
block = [128]
args = ["x", "y", "n", "steps"]
*/
constexpr int SIDE_BY_SIDE = REPAIRED ? 4 : 1;

extern "C" __global__ void leaky_states(const float* x, float* y, int n, int steps)
{
    const int t = blockIdx.x * 128 + threadIdx.x, quarter = n / 4;
#pragma unroll 1
    for (int first = 0; first < 4; first += SIDE_BY_SIDE) {
        float state[SIDE_BY_SIDE], input[SIDE_BY_SIDE];
#pragma unroll
        for (int c = 0; c < SIDE_BY_SIDE; ++c)
            state[c] = input[c] = x[t + (first + c) * quarter];
#pragma unroll 32
        for (int s = 0; s < steps; ++s)
#pragma unroll
            for (int c = 0; c < SIDE_BY_SIDE; ++c)
                state[c] = state[c] * 0.9995f + input[c];
#pragma unroll
        for (int c = 0; c < SIDE_BY_SIDE; ++c)
            y[t + (first + c) * quarter] = state[c];
    }
}
