// Planted: green and coloured photosites alternate along a row, so each warp runs both estimates with
// half of its lanes. Repair: a thread takes a pair of sites, all lanes first the green, then the other.
/* rooftree
[shape]
width = 4096
height = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "raw"
role = "input"
fill = "uniform"
shape = ["height + 6", "width + 64"]
[[buffer]]
name = "others"
role = "output"
shape = ["height", "width", 2]
[cost]
bytes = "12 * width * height"
flops = "32 * 7 * width * height"
[[launch]]
kernel = "demosaic"
grid = ["width // 64", "height // 8"]
block = ["32 if REPAIRED else 64", 8]
args = ["raw", "others", "width"]
*/
constexpr unsigned SPLIT = 36;  // even columns of the tile first, then the odd ones

// Bilateral mean over every other row and column of 7 x 7, from (dx, dy) on.
__device__ float mean(const float* tile, unsigned x, unsigned y, int dx, int dy, float sharpness)
{
    const auto pixel = [&](unsigned u, unsigned v) { return tile[(v * 2 + u % 2) * SPLIT + u / 2]; };
    const float centre = pixel(x + 3, y + 3);
    float sum = 0.0f, weights = 1e-6f;
#pragma unroll
    for (int v = dy; v <= 6; v += 2)
#pragma unroll
        for (int u = dx; u <= 6; u += 2) {
            const float value = pixel(x + u, y + v), off = value - centre;
            const float distance = (u - 3) * (u - 3) + (v - 3) * (v - 3);
            const float weight = __expf(-sharpness * off * off - 0.1f * distance);
            sum += weight * value, weights += weight;
        }
    return __fdividef(sum, weights);
}

// The one colour lies beside it, the other above and below.
__device__ float2 at_green(const float* tile, int x, int y)
{
    return make_float2(mean(tile, x, y, 0, 1, 2.0f), mean(tile, x, y, 1, 0, 2.0f));
}

// The opposite colour lies in the corners, green on all sides.
__device__ float2 at_colour(const float* tile, int x, int y)
{
    const float corners = mean(tile, x, y, 0, 0, 3.0f);
    return make_float2(0.5f * (mean(tile, x, y, 1, 0, 5.0f) + mean(tile, x, y, 0, 1, 5.0f)), corners);
}

extern "C" __global__ void demosaic(const float* __restrict__ raw, float2* others, int width)
{
    __shared__ float tile[14 * 2 * SPLIT];
    const int left = blockIdx.x * 64, top = blockIdx.y * 8, y = threadIdx.y;
    for (int e = y * blockDim.x + threadIdx.x; e < 14 * 70; e += blockDim.x * 8)
        tile[(e / 70 * 2 + e % 2) * SPLIT + e % 70 / 2] = raw[(top + e / 70) * (width + 64) + left + e % 70];
    __syncthreads();
    float2* row = others + (top + y) * width + left;
#if REPAIRED
    const int x = 2 * threadIdx.x, odd = y % 2;
    const float2 green = at_green(tile, x + odd, y), colour = at_colour(tile, x + 1 - odd, y);
    const float2 first = odd ? colour : green, second = odd ? green : colour;
    ((float4*)row)[threadIdx.x] = make_float4(first.x, first.y, second.x, second.y);
#else
    const int x = threadIdx.x;
    row[x] = (x + y) % 2 == 0 ? at_green(tile, x, y) : at_colour(tile, x, y);
#endif
}
