// Planted: each thread unravels its flat 64-bit index by division and remainder to find its channel,
// row and column. Repair: the grid already is the tensor's shape.
/* rooftree
[shape]
images = 8
channels = 64
height = 256
width = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["images", "channels", "height", "width"]
[[buffer]]
name = "scale"
role = "input"
shape = ["channels"]
[[buffer]]
name = "rows"
role = "input"
shape = ["height"]
[[buffer]]
name = "columns"
role = "input"
shape = ["width"]
[[buffer]]
name = "y"
role = "output"
shape = ["images", "channels", "height", "width"]
[cost]
bytes = "8 * images * channels * height * width"
flops = "3 * images * channels * height * width"
[[launch]]
kernel = "add_positions"
grid = ["height // 16 if REPAIRED else images * channels * height", "channels if REPAIRED else 1", "images if REPAIRED else 1"]
block = ["width // 4 if REPAIRED else width", "4 if REPAIRED else 1"]
args = ["x", "scale", "rows", "columns", "y", "channels", "height", "width"]
*/
extern "C" __global__ void add_positions(const float* x, const float* scale, const float* rows,
    const float* columns, float* y, int channels, int height, int width)
{
#if REPAIRED
    const int w = threadIdx.x * 4, c = blockIdx.y;
    const float4 column = *(const float4*)&columns[w];
    const float factor = scale[c];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int h = blockIdx.x * 16 + k * 4 + threadIdx.y;
        const int i = ((blockIdx.z * channels + c) * height + h) * width + w;
        const float4 v = *(const float4*)&x[i];
        const float row = rows[h];
        *(float4*)&y[i] = make_float4(v.x * factor + row + column.x, v.y * factor + row + column.y,
            v.z * factor + row + column.z, v.w * factor + row + column.w);
    }
#else
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long w = i % width, h = i / width % height;
    const long long c = i / ((long long)width * height) % channels;
    y[i] = x[i] * scale[c] + rows[h] + columns[w];
#endif
}
