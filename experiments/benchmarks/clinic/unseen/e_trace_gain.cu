// Planted: the lanes of a warp take the same sample of 32 traces, which are a row apart. Repair:
// the lanes run along a trace.
/* rooftree
[shape]
traces = 16384
samples = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "shot"
role = "input"
shape = ["traces", "samples"]
[[buffer]]
name = "gain"
role = "input"
shape = ["samples"]
fill = "uniform"
[[buffer]]
name = "weight"
role = "input"
shape = ["traces"]
fill = "uniform"
[[buffer]]
name = "corrected"
role = "output"
shape = ["traces", "samples"]
[cost]
bytes = "8 * traces * samples"
flops = "4 * traces * samples"
[[launch]]
kernel = "spread_correction"
grid = ["samples // 1024 if REPAIRED else traces // 256", "traces if REPAIRED else samples"]
block = [256]
args = ["shot", "gain", "weight", "corrected", "samples"]
*/
#define CLIP 4.0f

// Seismic gather: undo geometrical spreading (gain by time), balance the geophones (weight by
// trace), clip bursts.
__device__ __forceinline__ float correct(float x, float gain, float weight)
{
    return fminf(fmaxf(x * (1.0f + gain) * weight, -CLIP), CLIP);
}

#if REPAIRED
extern "C" __global__ void __launch_bounds__(256) spread_correction(const float* __restrict__ shot,
    const float* __restrict__ gain, const float* __restrict__ weight, float* __restrict__ corrected,
    int length)
{
    const int trace = blockIdx.y;
    const int sample = (blockIdx.x * 256 + threadIdx.x) * 4;
    const int at = trace * length + sample;
    const float w = weight[trace];
    const float4 x = *(const float4*)&shot[at];
    const float4 g = *(const float4*)&gain[sample];
    *(float4*)&corrected[at] = make_float4(correct(x.x, g.x, w), correct(x.y, g.y, w),
        correct(x.z, g.z, w), correct(x.w, g.w, w));
}
#else
extern "C" __global__ void __launch_bounds__(256) spread_correction(const float* __restrict__ shot,
    const float* __restrict__ gain, const float* __restrict__ weight, float* __restrict__ corrected,
    int length)
{
    const int trace = blockIdx.x * 256 + threadIdx.x;
    const int sample = blockIdx.y;
    const int at = trace * length + sample;
    corrected[at] = correct(shot[at], gain[sample], weight[trace]);
}
#endif
