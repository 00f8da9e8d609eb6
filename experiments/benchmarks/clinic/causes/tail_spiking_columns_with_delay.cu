// Planted: 133 cortical columns of 512 neurons whose 64 steps of history take 128 KB, one column per
// multiprocessor; the last is simulated alone. Repair: a block per mini-column of 64 neurons and 16 KB.
/* rooftree
[shape]
neurons = 68096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "drive"
role = "input"
fill = "uniform"
shape = ["neurons"]
[[buffer]]
name = "weight"
role = "input"
fill = "uniform"
shape = ["neurons"]
[[buffer]]
name = "spikes"
role = "output"
dtype = "int32"
shape = ["neurons"]
[cost]
bytes = "12 * neurons"
flops = "neurons * 2048 * 30"
[[launch]]
kernel = "simulate"
grid = ["neurons // 64 if REPAIRED else neurons // 512"]
block = ["64 if REPAIRED else 512"]
shared = "16384 if REPAIRED else 131072"
args = ["drive", "weight", "spikes"]
*/
constexpr int THREADS = REPAIRED ? 64 : 512, DELAY = 64, STEPS = 2048;

extern "C" __global__ void __launch_bounds__(THREADS) simulate(const float* __restrict__ drive,
    const float* __restrict__ weight, int* __restrict__ spikes)
{
    extern __shared__ float history[];  // [DELAY][THREADS]
    const int me = threadIdx.x, other = me ^ 5;  // a partner in the same warp
    const int i = blockIdx.x * THREADS + me;
    const float current = 8.0f + 3.0f * drive[i], strength = 0.02f * weight[i];
    float v = -65.0f, u = -13.0f;
    int count = 0;
    for (int k = 0; k < DELAY; ++k)
        history[k * THREADS + me] = v;
    __syncwarp();
#pragma unroll 4
    for (int step = 0; step < STEPS; ++step) {
        const int slot = step % DELAY * THREADS;
        const float input = current + strength * (history[slot + other] - v);
        __syncwarp();
#pragma unroll
        for (int part = 0; part < 4; ++part)  // quarter steps of the membrane equation
            v += 0.25f * ((0.04f * v + 5.0f) * v + 140.0f - u + input);
        v = fminf(fmaxf(v, -90.0f), 30.0f);
        u += 0.02f * (0.2f * v - u);
        if (v >= 30.0f)
            v = -65.0f, u += 8.0f, ++count;
        history[slot + me] = v;
        __syncwarp();
    }
    spikes[i] = count;
}
