// Planted: the phase of every echo is wrapped by way of a 64-bit integer and back, two conversions
// for each handful of multiply-adds. Repair: rounding by adding and subtracting 1.5 * 2^23.
/* rooftree
[shape]
samples = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "echoes"
role = "input"
shape = [256, 4]
[[buffer]]
name = "signal"
role = "output"
shape = ["samples"]
[cost]
bytes = "4 * samples"
flops = "256 * 12 * samples"
[[launch]]
kernel = "synthesise"
grid = ["samples // 1024"]
block = [256]
args = ["echoes", "signal", { value = "64 / samples", type = "float32" }]
*/
#define ECHOES 256
#define PER_THREAD 4

// Whole cycles of a phase, to the nearest; phases stay below 2^22 cycles.
__device__ __forceinline__ float whole_cycles(float phase)
{
#if REPAIRED
    const float magic = 12582912.0f;
    return __fadd_rn(__fadd_rn(phase, magic), -magic);
#else
    return static_cast<float>(__float2ll_rn(phase));
#endif
}

// Radar test signal: a sum of chirped echoes {phase, frequency, chirp rate, amplitude}, each a sine
// approximated by parabolas.
extern "C" __global__ void __launch_bounds__(256) synthesise(const float4* __restrict__ echoes,
    float* __restrict__ signal, float step)
{
    __shared__ float4 table[ECHOES];
    table[threadIdx.x] = echoes[threadIdx.x];
    __syncthreads();

    const int first = blockIdx.x * 256 * PER_THREAD + threadIdx.x;
    float time[PER_THREAD], sums[PER_THREAD];
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
        time[j] = (first + 256 * j) * step;
        sums[j] = 0.0f;
    }

#pragma unroll 4
    for (int k = 0; k < ECHOES; ++k) {
        const float4 echo = table[k];
#pragma unroll
        for (int j = 0; j < PER_THREAD; ++j) {
            const float cycles = fmaf(fmaf(echo.z, time[j], echo.y), time[j], echo.x);
            const float p = cycles - whole_cycles(cycles);
            sums[j] = fmaf(echo.w, p * fmaf(-16.0f, fabsf(p), 8.0f), sums[j]);
        }
    }

#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j)
        signal[first + 256 * j] = sums[j];
}
