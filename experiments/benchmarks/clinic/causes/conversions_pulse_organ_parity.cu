// Planted: a square wave's sign is the parity of its half period, for which every voice and sample casts
// the phase to int. Repair: 1.5 * 2^23 added to the phase leaves the parity in the lowest bit of the sum.
/* rooftree
[shape]
samples = 16777216
voices = 128
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "voice"
role = "input"
fill = "uniform"
shape = ["voices", 2]
[[buffer]]
name = "sound"
role = "output"
shape = ["samples"]
[cost]
bytes = "4 * samples"
flops = "2 * voices * samples"
[[launch]]
kernel = "pulse_organ"
grid = ["samples // 1024"]
block = [256]
args = ["voice", "sound"]
*/
#define VOICES 128

__device__ float square_wave(float amplitude, float rate, float time)
{
#if REPAIRED
    const int half_period = __float_as_int(fmaf(rate, time, 12582912.0f));
#else
    const int half_period = __float2int_rn(rate * time);
#endif
    return __int_as_float(__float_as_int(amplitude) ^ half_period << 31);
}

extern "C" __global__ void pulse_organ(const float2* __restrict__ voice, float4* __restrict__ sound)
{
    __shared__ float2 pipes[VOICES];  // half periods a second, amplitude
    if (threadIdx.x < VOICES) {
        const float2 v = voice[threadIdx.x];
        pipes[threadIdx.x] = make_float2(2000.0f + 1900.0f * v.x, 0.01f + 0.005f * v.y);
    }
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float time = i % 16384 * (4.0f / 48000.0f), step = 1.0f / 48000.0f;
    float4 sum = {};
#pragma unroll 8
    for (int v = 0; v < VOICES; ++v) {
        const float2 pipe = pipes[v];
        sum.x += square_wave(pipe.y, pipe.x, time);
        sum.y += square_wave(pipe.y, pipe.x, time + step);
        sum.z += square_wave(pipe.y, pipe.x, time + 2 * step);
        sum.w += square_wave(pipe.y, pipe.x, time + 3 * step);
    }
    sound[i] = sum;
}
