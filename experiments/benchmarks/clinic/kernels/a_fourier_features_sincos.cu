// Planted: a sine and a cosine for each of 16 octaves, all on the special-function unit. Repair: one
// sine and cosine, then the double-angle formulas, which are multiply-adds.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "64 * n"
[[launch]]
kernel = "features"
grid = ["n / 1024"]
block = [256]
args = ["x", "y"]
*/
__device__ float encode(float x)
{
    float sum = 0.0f;
#if REPAIRED
    float s = __sinf(x), c = __cosf(x);
#pragma unroll
    for (int octave = 0; octave < 16; ++octave) {
        sum += s * 0.5f + c;
        const float twice = 2.0f * s * c;
        c = 1.0f - 2.0f * s * s;
        s = twice;
    }
#else
#pragma unroll
    for (int octave = 0; octave < 16; ++octave) {
        const float angle = x * (1 << octave);
        sum += __sinf(angle) * 0.5f + __cosf(angle);
    }
#endif
    return sum;
}

extern "C" __global__ void features(const float4* x, float4* y)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = x[i];
    y[i] = make_float4(encode(v.x), encode(v.y), encode(v.z), encode(v.w));
}
