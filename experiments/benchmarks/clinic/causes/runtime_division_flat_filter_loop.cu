// Planted: a convolution walks channel, row and column of its filter as one flat index and takes that
// apart by division in every step. Repair: three nested loops and a pointer that moves.
/* rooftree
[shape]
images = 48
channels = 16
height = 128
width = 128
filter = 5
outputs = 16
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["images", "channels", "height + filter - 1", "width + filter - 1"]
[[buffer]]
name = "weights"
role = "input"
shape = ["outputs // 8", "channels", "filter", "filter", 8]
[[buffer]]
name = "y"
role = "output"
shape = ["images", "outputs", "height", "width"]
[cost]
bytes = "4 * images * height * width * (channels + outputs)"
flops = "2 * images * outputs * channels * filter * filter * height * width"
[[launch]]
kernel = "convolve"
grid = ["height // 2", "outputs // 8", "images"]
block = ["width", 2]
args = ["x", "weights", "y", "channels", "filter", "height", "width"]
*/
extern "C" __global__ void convolve(const float* __restrict__ x, const float4* __restrict__ weights,
    float* __restrict__ y, int channels, int filter, int height, int width)
{
    const int column = threadIdx.x, row = blockIdx.x * 2 + threadIdx.y;
    const int pitch = width + filter - 1, plane = pitch * (height + filter - 1);
    const int steps = channels * filter * filter;
    const float* corner = x + blockIdx.z * channels * plane + row * pitch + column;
    const float4* w = weights + blockIdx.y * steps * 2;
    float sum[8] = {};
#if REPAIRED
    for (int c = 0; c < channels; ++c, corner += plane)
        for (int r = 0; r < filter; ++r)
            for (int s = 0; s < filter; ++s) {
                const float v = corner[r * pitch + s];
#else
    for (int k = 0; k < steps; ++k) {
                const int c = k / (filter * filter), r = k % (filter * filter) / filter, s = k % filter;
                const float v = corner[c * plane + r * pitch + s];
#endif
                const float4 a = *w++, b = *w++;
                sum[0] += v * a.x, sum[1] += v * a.y, sum[2] += v * a.z, sum[3] += v * a.w;
                sum[4] += v * b.x, sum[5] += v * b.y, sum[6] += v * b.z, sum[7] += v * b.w;
            }
    for (int k = 0; k < 8; ++k)
        y[(((blockIdx.z * gridDim.y + blockIdx.y) * 8 + k) * height + row) * width + column] = sum[k];
}
