// Planted: slopes of water from eight scrolling layers of a repeating texture whose size is no power
// of two: every texel coordinate is wrapped by remainders. Repair: a reciprocal of the size, made once.
/* rooftree
[shape]
width = 4096
height = 4096
size = 1000
layers = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "texture"
role = "input"
shape = ["size", "size", 2]
[[buffer]]
name = "water"
role = "output"
shape = ["height", "width", 2]
[cost]
bytes = "8 * width * height + 8 * size * size"
flops = "26 * layers * width * height"
[[launch]]
kernel = "water_slopes"
grid = ["width // 256", "height"]
block = [256]
args = ["texture", "water", "size", "layers"]
*/
// The texels on both sides; `reciprocal` is that of the size, times 2^32.
__device__ int2 wrapped(int cell, int size, unsigned reciprocal)
{
#if REPAIRED
    const unsigned above = cell + 64 * size;  // nothing scrolls further than 64 sizes
    const int at = above - __umulhi(above, reciprocal) * size;
    return make_int2(at, at + 1 == size ? 0 : at + 1);
#else
    return make_int2((cell % size + size) % size, ((cell + 1) % size + size) % size);
#endif
}
__device__ float2 mix(float t, float2 a, float2 b)
{
    return make_float2(fmaf(t, b.x - a.x, a.x), fmaf(t, b.y - a.y, a.y));
}
extern "C" __global__ void water_slopes(
    const float2* __restrict__ texture, float2* __restrict__ water, int size, int layers)
{
    const float column = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
    const unsigned reciprocal = 0xffffffffu / size + 1;
    float2 slope = {};
    float zoom = 0.4f, east = 0.0f, south = -1500.0f;
    for (int layer = 0; layer < layers; ++layer, zoom += 0.1f, east -= 731.3f, south += 417.9f) {
        const float u = fmaf(zoom, column, east), v = fmaf(zoom, row, south);
        const int left = __float2int_rd(u), top = __float2int_rd(v);
        const int2 x = wrapped(left, size, reciprocal), y = wrapped(top, size, reciprocal);
        const float2 a = mix(u - left, texture[y.x * size + x.x], texture[y.x * size + x.y]);
        const float2 b = mix(u - left, texture[y.y * size + x.x], texture[y.y * size + x.y]);
        slope.x += mix(v - top, a, b).x, slope.y += mix(v - top, a, b).y;
    }
    water[(blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.x] = slope;
}
