// Planted: constants without an f make the whole polynomial of a tone curve fp64. Repair: fp32
// constants.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "pixels"
role = "input"
fill = "uniform"
shape = ["n"]
[[buffer]]
name = "toned"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "192 * n"
[[launch]]
kernel = "tone_curve"
grid = ["n / 1024"]
block = [256]
args = ["pixels", "toned"]
*/
#if REPAIRED
#define C(x) x##f
typedef float Real;
#else
#define C(x) x
typedef double Real;
#endif

__device__ float curve(float pixel)
{
    Real sum = C(0.125);
#pragma unroll
    for (int term = 96; term > 0; --term)
        sum = sum * pixel + C(1.0) / (term * (term + C(1.5)));
    return sum;
}

extern "C" __global__ void tone_curve(const float4* pixels, float4* toned)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = pixels[i];
    toned[i] = make_float4(curve(v.x), curve(v.y), curve(v.z), curve(v.w));
}
