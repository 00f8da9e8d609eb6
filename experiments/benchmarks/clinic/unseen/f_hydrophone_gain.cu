// Planted: half-precision samples are loaded and stored one by one, two bytes per lane. Repair: eight
// at a time, 16 bytes per lane.
/* rooftree
[shape]
channels = 8192
samples = 16384
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "raw"
role = "input"
dtype = "float16"
shape = ["channels", "samples"]
[[buffer]]
name = "gain"
role = "input"
dtype = "float16"
shape = ["channels"]
[[buffer]]
name = "offset"
role = "input"
dtype = "float16"
shape = ["channels"]
[[buffer]]
name = "clean"
role = "output"
dtype = "float16"
shape = ["channels", "samples"]
[cost]
bytes = "4 * channels * samples + 4 * channels"
flops = "2 * channels * samples"
math = "fp16"
[[launch]]
kernel = "equalise"
grid = ["samples // 4096", "channels"]
block = [256]
args = ["raw", "gain", "offset", "clean", "samples"]
*/
#include <cuda_fp16.h>

constexpr int SPAN = 4096;  // samples of a block

// One hydrophone per row: gain, offset, and the converter's rails at +-4.
extern "C" __global__ void __launch_bounds__(256) equalise(const __half* raw, const __half* gain,
    const __half* offset, __half* clean, int samples)
{
    const long long begin = (long long)blockIdx.y * samples + blockIdx.x * SPAN;
    const __half g = gain[blockIdx.y], o = offset[blockIdx.y];
    const __half top = __float2half(4.0f), bottom = __float2half(-4.0f);
#if REPAIRED
    const __half2 g2 = __half2half2(g), o2 = __half2half2(o);
    const __half2 top2 = __half2half2(top), bottom2 = __half2half2(bottom);
    for (int i = threadIdx.x * 8; i < SPAN; i += 256 * 8) {
        uint4 pack = *(const uint4*)(raw + begin + i);
        __half2* pair = (__half2*)&pack;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            pair[k] = __hmin2(__hmax2(__hfma2(pair[k], g2, o2), bottom2), top2);
        *(uint4*)(clean + begin + i) = pack;
    }
#else
    for (int i = threadIdx.x; i < SPAN; i += 256) {
        const __half level = __hfma(raw[begin + i], g, o);
        clean[begin + i] = __hmin(__hmax(level, bottom), top);
    }
#endif
}
