// Planted: Levinson's recursion for seismic deconvolution filters, with a block-wide tree of ten levels and a barrier
// each for every order. Repair: a warp per trace, sums by shuffle, no block-wide barrier.
/* rooftree
[shape]
traces = 1056
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "correlation"
role = "input"
fill = "uniform"
shape = ["traces", 512]
[[buffer]]
name = "filters"
role = "output"
shape = ["traces", 512]
[cost]
bytes = "4096 * traces"
flops = "1048576 * traces"
[[launch]]
kernel = "levinson"
grid = ["traces // 4 if REPAIRED else traces"]
block = ["128 if REPAIRED else 512"]
args = ["correlation", "filters"]
*/
constexpr int ORDER = 512, TRACES = REPAIRED ? 4 : 1, THREADS = REPAIRED ? 32 : 512;  // of a trace

extern "C" __global__ void levinson(const float* __restrict__ correlation, float* __restrict__ filters)
{
    __shared__ float lags[TRACES][ORDER + 1], taps[TRACES][ORDER], parts[ORDER];
    const int slot = threadIdx.x / THREADS, t = threadIdx.x % THREADS, trace = blockIdx.x * TRACES + slot;
    float *lag = lags[slot], *tap = taps[slot];
    if (t == 0) lag[0] = 8.0f;  // white noise added to keep the system definite
    for (int i = t; i < ORDER; i += THREADS) {
        lag[i + 1] = 0.3f * fminf(fmaxf(correlation[trace * ORDER + i], -1.0f), 1.0f) / (1 + i);
        tap[i] = 0.0f;
    }
    __syncthreads();
    float error = lag[0];
    for (int m = 0; m < ORDER; ++m) {
#if REPAIRED
        float sum = 0.0f;
#pragma unroll 4
        for (int i = t; i < m; i += 32) sum += tap[i] * lag[m - i];
        for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_xor_sync(~0u, sum, reach);
        const float k = (lag[m + 1] - sum) / error;
#pragma unroll 4
        for (int i = t; i < (m + 1) / 2; i += 32) {
            const float one = tap[i], other = tap[m - 1 - i];
            tap[i] = one - k * other;
            tap[m - 1 - i] = other - k * one;
        }
        if (t == 0) tap[m] = k;
        __syncwarp();
#else
        parts[t] = t < m ? tap[t] * lag[m - t] : 0.0f;
        __syncthreads();
        for (int half = ORDER / 2; half > 0; half /= 2) {
            if (t < half) parts[t] += parts[t + half];
            __syncthreads();
        }
        const float k = (lag[m + 1] - parts[0]) / error;
        const float mirrored = t < m ? tap[m - 1 - t] : 0.0f;
        __syncthreads();
        if (t < m) tap[t] -= k * mirrored;
        if (t == m) tap[m] = k;
        __syncthreads();
#endif
        error *= 1.0f - k * k;
    }
    for (int i = t; i < ORDER; i += THREADS) filters[trace * ORDER + i] = tap[i];
}
