// Planted: exposure, tone mapping, saturation and gamma of a 4K frame as four kernels that hand the picture on
// through device memory. Repair: one kernel.
/* rooftree
[shape]
n = 8294400
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "frame"
role = "input"
dtype = "float32"
shape = ["n", 4]
fill = "uniform"
[[buffer]]
name = "graded"
role = "output"
dtype = "float32"
shape = ["n", 4]
[[workspace]]
name = "stage"
dtype = "float32"
size = "4 * n"
[cost]
bytes = "32 * n"
flops = "28 * n"
math = "fp32"
[[launch]]
kernel = "expose"
grid = ["n // 256"]
block = [256]
args = ["frame", "stage"]
when = "REPAIRED == 0"
[[launch]]
kernel = "tone_map"
grid = ["n // 256"]
block = [256]
args = ["stage"]
when = "REPAIRED == 0"
[[launch]]
kernel = "saturate_colours"
grid = ["n // 256"]
block = [256]
args = ["stage"]
when = "REPAIRED == 0"
[[launch]]
kernel = "encode_gamma"
grid = ["n // 256"]
block = [256]
args = ["stage", "graded"]
when = "REPAIRED == 0"
[[launch]]
kernel = "grade"
grid = ["n // 256"]
block = [256]
args = ["frame", "graded"]
when = "REPAIRED == 1"
*/
#define PIXEL (blockIdx.x * 256 + threadIdx.x)  // one RGBA pixel, 16 bytes, per thread

__device__ float luma(float4 p) { return 0.2126f * p.x + 0.7152f * p.y + 0.0722f * p.z; }
__device__ float4 exposed(float4 p)  // with white balance; camera noise below black is cut
{
    return make_float4(fmaxf(2.3f * p.x, 0.0f), fmaxf(2.0f * p.y, 0.0f), fmaxf(2.6f * p.z, 0.0f), p.w);
}
__device__ float4 tone_mapped(float4 p)  // Reinhard
{
    const float scale = __fdividef(1.0f, 1.0f + luma(p));
    return make_float4(scale * p.x, scale * p.y, scale * p.z, p.w);
}
__device__ float4 saturated(float4 p)
{
    const float grey = luma(p);
    return make_float4(fmaxf(fmaf(1.2f, p.x - grey, grey), 0.0f), fmaxf(fmaf(1.2f, p.y - grey, grey), 0.0f),
                       fmaxf(fmaf(1.2f, p.z - grey, grey), 0.0f), p.w);
}
__device__ float4 encoded(float4 p) { return make_float4(sqrtf(p.x), sqrtf(p.y), sqrtf(p.z), p.w); }

extern "C" __global__ void expose(const float4* frame, float4* stage) { stage[PIXEL] = exposed(frame[PIXEL]); }
extern "C" __global__ void tone_map(float4* stage) { stage[PIXEL] = tone_mapped(stage[PIXEL]); }
extern "C" __global__ void saturate_colours(float4* stage) { stage[PIXEL] = saturated(stage[PIXEL]); }
extern "C" __global__ void encode_gamma(const float4* stage, float4* graded) { graded[PIXEL] = encoded(stage[PIXEL]); }
extern "C" __global__ void grade(const float4* frame, float4* graded)
{
    graded[PIXEL] = encoded(saturated(tone_mapped(exposed(frame[PIXEL]))));
}
