// Planted: film grain from the fractional digits of a tangent, whose argument grows with the square
// of the pixel's place in the scan. Repair: tan has the period pi; half turns are taken off first.
/* rooftree
[shape]
width = 8192
height = 8192
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "luma"
role = "input"
fill = "uniform"
shape = ["height", "width"]
[[buffer]]
name = "grained"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "8 * width * height"
flops = "24 * width * height"
math = "fp32"
[[launch]]
kernel = "film_grain"
grid = ["width // 1024", "height"]
block = [256]
args = ["luma", "grained", "width"]
*/
__device__ float grain(float x, float y)
{
    constexpr float SEED = 0.0491f, PI = 3.1415927f;
    const float place = fmaf(x, x, y * y);
#if REPAIRED
    constexpr float HALF_TURNS = SEED / PI;
    const float whole = (place * HALF_TURNS + 12582912.0f) - 12582912.0f;
    const float digits = x * tanf(PI * fmaf(place, HALF_TURNS, -whole));
#else
    const float digits = x * tanf(SEED * place);
#endif
    return digits - floorf(digits);
}

__device__ float grained_pixel(float v, float x, float y)
{
    return fmaf(0.08f * (1.0f - v * v), grain(x, y) - 0.5f, v);
}

extern "C" __global__ void film_grain(
    const float4* __restrict__ luma, float4* __restrict__ grained, int width)
{
    const int column = (blockIdx.x * 256 + threadIdx.x) * 4;
    const int i = (blockIdx.y * width + column) / 4;
    const float4 v = luma[i];
    const float x = 2000.0f + column, y = 2000.0f + blockIdx.y;  // in the sheet of the whole scan
    grained[i] = make_float4(grained_pixel(v.x, x, y), grained_pixel(v.y, x + 1, y),
        grained_pixel(v.z, x + 2, y), grained_pixel(v.w, x + 3, y));
}
