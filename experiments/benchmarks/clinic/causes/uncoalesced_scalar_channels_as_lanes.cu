// Planted: folded batch norm and hard swish of planar feature maps with a lane for each channel, so that lanes lie
// a whole plane (9 KB) apart. Repair: a block for each plane, lanes along the pixels, four to a lane.
/* rooftree
[shape]
images = 160
channels = 192
pixels = 2304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["images", "channels", "pixels"]
[[buffer]]
name = "scale"
role = "input"
shape = ["channels"]
[[buffer]]
name = "shift"
role = "input"
shape = ["channels"]
[[buffer]]
name = "y"
role = "output"
shape = ["images", "channels", "pixels"]
[cost]
bytes = "8 * images * channels * pixels"
flops = "6 * images * channels * pixels"
[[launch]]
kernel = "norm_hard_swish"
grid = ["channels if REPAIRED else pixels", "images"]
block = [192]
args = ["x", "scale", "shift", "y"]
*/
constexpr int CHANNELS = 192, PIXELS = 48 * 48;

__device__ float activated(float v, float scale, float shift)
{
    v = fmaf(v, scale, shift);
    return v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) * (1.0f / 6);
}

extern "C" __global__ void norm_hard_swish(
    const float* __restrict__ x, const float* __restrict__ scale, const float* __restrict__ shift, float* __restrict__ y)
{
#if REPAIRED
    const int channel = blockIdx.x, plane = (blockIdx.y * CHANNELS + channel) * PIXELS;
    const float a = scale[channel], b = shift[channel];
#pragma unroll
    for (int k = 0; k < PIXELS / (4 * 192); ++k) {
        const int i = k * 192 + threadIdx.x;
        const float4 v = ((const float4*)(x + plane))[i];
        ((float4*)(y + plane))[i] =
            make_float4(activated(v.x, a, b), activated(v.y, a, b), activated(v.z, a, b), activated(v.w, a, b));
    }
#else
    const int channel = threadIdx.x, pixel = blockIdx.x;
    const int i = (blockIdx.y * CHANNELS + channel) * PIXELS + pixel;
    y[i] = activated(x[i], scale[channel], shift[channel]);
#endif
}
