// Planted: the loop over 64 filter taps is kept rolled, a branch and two address updates per tap.
// Repair: it is unrolled, so that addresses are constants.
/* rooftree
[shape]
n = 8388608
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "signal"
role = "input"
shape = ["n + 64"]
[[buffer]]
name = "taps"
role = "input"
shape = [64]
[[buffer]]
name = "smooth"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "128 * n"
[[launch]]
kernel = "filter"
grid = ["n / 256"]
block = [256]
args = ["signal", "taps", "smooth"]
*/
extern "C" __global__ void filter(const float* __restrict__ signal, const float* __restrict__ taps,
    float* __restrict__ smooth)
{
    __shared__ float window[256 + 64], weights[64];
    const int i = blockIdx.x * 256 + threadIdx.x;
    window[threadIdx.x] = signal[i];
    if (threadIdx.x < 64) {
        window[256 + threadIdx.x] = signal[i + 256];
        weights[threadIdx.x] = taps[threadIdx.x];
    }
    __syncthreads();
    float sum = 0.0f;
#if REPAIRED
#pragma unroll
#else
#pragma unroll 1
#endif
    for (int tap = 0; tap < 64; ++tap)
        sum += window[threadIdx.x + tap] * weights[tap];
    smooth[i] = sum;
}
