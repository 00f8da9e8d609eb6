// Planted: each output of a rational resampler divides its 64-bit position in the stream by the
// interpolation factor, and takes the remainder too. Repair: both are stepped from output to output.
/* rooftree
[shape]
outputs = 33554432
up = 160
down = 147
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["outputs"]
[[buffer]]
name = "taps"
role = "input"
shape = ["up", 4]
[[buffer]]
name = "y"
role = "output"
shape = ["outputs"]
[cost]
bytes = "4 * (outputs * down // up) + 4 * outputs"
flops = "7 * outputs"
[[launch]]
kernel = "resample"
grid = ["outputs // 8192"]
block = [256]
args = ["x", "taps", "y", "up", "down"]
*/
constexpr int EACH = 32;
constexpr long long PERIODS_BEFORE = 40000000;  // of the stream, `up` outputs each

extern "C" __global__ void resample(const float* __restrict__ x, const float4* __restrict__ taps,
    float* __restrict__ y, int up, int down)
{
    __shared__ float4 bank[256];
    if (threadIdx.x < up)
        bank[threadIdx.x] = taps[threadIdx.x];
    __syncthreads();
    const int first = blockIdx.x * 256 * EACH + threadIdx.x;
    const long long start = (PERIODS_BEFORE * up + first) * down;
    int base = (int)(start / up - PERIODS_BEFORE * down), phase = (int)(start % up);
    const int bases = 256 * down / up, phases = 256 * down % up;
#pragma unroll 4
    for (int k = 0; k < EACH; ++k) {
        const int n = first + k * 256;
#if !REPAIRED
        const long long place = (PERIODS_BEFORE * up + n) * down;
        base = (int)(place / up - PERIODS_BEFORE * down);
        phase = (int)(place % up);
#endif
        const float4 h = bank[phase];
        y[n] = h.x * x[base] + h.y * x[base + 1] + h.z * x[base + 2] + h.w * x[base + 3];
        base += bases, phase += phases;
        if (phase >= up)
            phase -= up, ++base;
    }
}
