// Planted: six lookups per pixel go to tables of 48 KB in global memory: they hit L1, but the lanes of a
// warp want up to 32 sectors each time. Repair: the tables lie in shared memory.
/* rooftree
[shape]
pixels = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "picture"
role = "input"
shape = ["pixels", "4"]
fill = "uniform"
[[buffer]]
name = "curves"
role = "input"
shape = ["3", "4096"]
[[buffer]]
name = "graded"
role = "output"
shape = ["pixels", "4"]
[cost]
bytes = "32 * pixels + 49152"
flops = "21 * pixels"
[[launch]]
kernel = "grade"
grid = [528]
block = [512]
shared = "49152 if REPAIRED else 0"
args = ["picture", "curves", "graded", "pixels"]
*/
constexpr int ENTRIES = 4096;

__device__ __forceinline__ float look_up(const float* curve, float value)
{
    const float place = fmaf(value, 0.5f * (ENTRIES - 2), 0.5f * (ENTRIES - 2));  // from [-1, 1)
    const int entry = (int)place;
    const float low = curve[entry], high = curve[entry + 1];
    return fmaf(place - (float)entry, high - low, low);
}

// A tone curve for each of red, green and blue; alpha stays.
extern "C" __global__ void __launch_bounds__(512, 4) grade(const float4* __restrict__ picture,
    const float* __restrict__ curves, float4* __restrict__ graded, int pixels)
{
#if REPAIRED
    extern __shared__ float4 kept[];
    for (int i = threadIdx.x; i < 3 * ENTRIES / 4; i += 512)
        kept[i] = ((const float4*)curves)[i];
    __syncthreads();
    const float* table = (const float*)kept;
#else
    const float* __restrict__ table = curves;
#endif
    const int stride = gridDim.x * 512;
#pragma unroll 2
    for (int i = blockIdx.x * 512 + threadIdx.x; i < pixels; i += stride) {
        float4 pixel = __ldcs(&picture[i]);
        pixel.x = look_up(table, pixel.x);
        pixel.y = look_up(table + ENTRIES, pixel.y);
        pixel.z = look_up(table + 2 * ENTRIES, pixel.z);
        __stcs(&graded[i], pixel);
    }
}
