// Planted: flat field, colour matrix and tone curve are three launches, which hand the whole image
// over through device memory. Repair: one launch, the pixel stays in registers.
/* rooftree
[shape]
pixels = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "raw"
role = "input"
shape = ["pixels", 4]
[[buffer]]
name = "flat"
role = "input"
shape = ["pixels"]
fill = "uniform"
[[buffer]]
name = "picture"
role = "output"
shape = ["pixels", 4]
[[workspace]]
name = "even"
size = "4 if REPAIRED else 4 * pixels"
[[workspace]]
name = "linear"
size = "4 if REPAIRED else 4 * pixels"
[cost]
bytes = "36 * pixels"
flops = "40 * pixels"
[[launch]]
kernel = "flatten"
when = "REPAIRED == 0"
grid = ["pixels // 256"]
block = [256]
args = ["raw", "flat", "even"]
[[launch]]
kernel = "colour"
when = "REPAIRED == 0"
grid = ["pixels // 256"]
block = [256]
args = ["even", "linear"]
[[launch]]
kernel = "tone"
when = "REPAIRED == 0"
grid = ["pixels // 256"]
block = [256]
args = ["linear", "picture"]
[[launch]]
kernel = "develop"
when = "REPAIRED == 1"
grid = ["pixels // 256"]
block = [256]
args = ["raw", "flat", "picture"]
*/
__device__ __forceinline__ float4 correct(float4 p, float shade)
{
    const float black = 0.0625f, gain = 1.0f + 0.25f * shade;
    return make_float4(fmaxf(p.x - black, 0.0f) * gain, fmaxf(p.y - black, 0.0f) * gain,
        fmaxf(p.z - black, 0.0f) * gain, p.w);
}

__device__ __forceinline__ float4 to_display(float4 p)
{
    return make_float4(fmaf(1.66f, p.x, fmaf(-0.59f, p.y, -0.07f * p.z)),
        fmaf(-0.12f, p.x, fmaf(1.13f, p.y, -0.01f * p.z)),
        fmaf(-0.02f, p.x, fmaf(-0.10f, p.y, 1.12f * p.z)), p.w);
}

__device__ __forceinline__ float compress(float x)
{
    x = fmaxf(x, 0.0f);
    return __fdividef(x, 1.0f + x);
}

__device__ __forceinline__ float4 tone_curve(float4 p)
{
    return make_float4(compress(p.x), compress(p.y), compress(p.z), p.w);
}

#if REPAIRED
extern "C" __global__ void develop(const float4* __restrict__ raw, const float* __restrict__ flat,
    float4* __restrict__ picture)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    picture[i] = tone_curve(to_display(correct(raw[i], flat[i])));
}
#else
extern "C" __global__ void flatten(const float4* __restrict__ raw, const float* __restrict__ flat,
    float4* __restrict__ even)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    even[i] = correct(raw[i], flat[i]);
}

extern "C" __global__ void colour(const float4* __restrict__ even, float4* __restrict__ linear)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    linear[i] = to_display(even[i]);
}

extern "C" __global__ void tone(const float4* __restrict__ linear, float4* __restrict__ picture)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    picture[i] = tone_curve(linear[i]);
}
#endif
