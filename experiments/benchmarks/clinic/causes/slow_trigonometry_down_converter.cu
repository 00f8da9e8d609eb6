// Planted: the local oscillator of a digital down-converter is sincosf of radians since the start of
// the recording, millions of them. Repair: a wrapping 32-bit phase in turns, as an NCO has it.
/* rooftree
[shape]
samples = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "iq"
role = "input"
shape = ["samples", 2]
[[buffer]]
name = "baseband"
role = "output"
shape = ["samples", 2]
[cost]
bytes = "16 * samples"
flops = "30 * samples"
math = "fp32"
[[launch]]
kernel = "mix_down"
grid = ["samples // 512"]
block = [256]
args = ["iq", "baseband"]
*/
constexpr unsigned FIRST = 1000000;  // samples recorded before this block of them

__device__ float2 oscillator(unsigned n)
{
    float2 turned;
#if REPAIRED
    const unsigned phase = n * 1295791633u;  // 0.3017 turns per sample, times 2^32
    sincospif((float)(int)phase * (1.0f / 2147483648.0f), &turned.y, &turned.x);
#else
    sincosf(1.895637f * (float)n, &turned.y, &turned.x);
#endif
    return turned;
}

__device__ float2 mixed(float i, float q, float2 o)
{
    return make_float2(i * o.x + q * o.y, q * o.x - i * o.y);
}

extern "C" __global__ void mix_down(const float4* __restrict__ iq, float4* __restrict__ baseband)
{
    const unsigned pair = blockIdx.x * 256 + threadIdx.x;
    const float4 v = iq[pair];
    const float2 a = mixed(v.x, v.y, oscillator(FIRST + 2 * pair));
    const float2 b = mixed(v.z, v.w, oscillator(FIRST + 2 * pair + 1));
    baseband[pair] = make_float4(a.x, a.y, b.x, b.y);
}
