// Planted: a convolution with 13 x 13 weights, one pixel per thread, straight from global memory: two
// loads for every multiply-add, all served by the L1 cache. Repair: image and weights in shared memory,
// 4 x 4 pixels per thread in registers, a row of 16 pixels read once for up to 208 multiply-adds.
/* rooftree
[shape]
width = 7680
height = 4320
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "frame"
role = "input"
shape = ["height + 12", "width + 32"]
[[buffer]]
name = "aperture"
role = "input"
shape = ["13", "13"]
[[buffer]]
name = "blurred"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "8 * width * height"
flops = "338 * width * height"
[[launch]]
kernel = "blur"
grid = ["width // 128 if REPAIRED else width // 32", "height // 32 if REPAIRED else height // 8"]
block = [32, 8]
args = ["frame", "aperture", "blurred", "width + 32", "width"]
*/
constexpr int SIZE = 13;                 // of the aperture

// Depth-of-field blur of a padded luminance frame with a bitmap of the lens's aperture.
#if REPAIRED
extern "C" __global__ void __launch_bounds__(256) blur(const float* __restrict__ frame,
    const float* __restrict__ aperture, float* __restrict__ blurred, int pitch, int columns)
{
    __shared__ float4 tile[32 + SIZE - 1][36];
    __shared__ __align__(16) float weights[SIZE + 6][16];    // three rows of zeros on either side
    const int t = threadIdx.y * 32 + threadIdx.x, row = blockIdx.y * 32, col = blockIdx.x * 128;
    for (int j = t; j < (32 + SIZE - 1) * 36; j += 256)
        tile[j / 36][j % 36] = *(const float4*)&frame[(row + j / 36) * pitch + col + j % 36 * 4];
    for (int j = t; j < (SIZE + 6) * 16; j += 256) {
        const int ky = j / 16 - 3, kx = j % 16;
        weights[j / 16][kx] = ky >= 0 && ky < SIZE && kx < SIZE ? aperture[ky * SIZE + kx] : 0.0f;
    }
    __syncthreads();

    float sums[4][4] = {};
#pragma unroll 2
    for (int r = 0; r < SIZE + 3; ++r) {
        float v[16];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const float4 p = tile[threadIdx.y * 4 + r][threadIdx.x + q];
            v[q * 4] = p.x, v[q * 4 + 1] = p.y, v[q * 4 + 2] = p.z, v[q * 4 + 3] = p.w;
        }
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            float w[16];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const float4 p = *(const float4*)&weights[r - y + 3][q * 4];
                w[q * 4] = p.x, w[q * 4 + 1] = p.y, w[q * 4 + 2] = p.z, w[q * 4 + 3] = p.w;
            }
#pragma unroll
            for (int kx = 0; kx < SIZE; ++kx)
#pragma unroll
                for (int x = 0; x < 4; ++x)
                    sums[y][x] += w[kx] * v[kx + x];
        }
    }
#pragma unroll
    for (int y = 0; y < 4; ++y)
        *(float4*)&blurred[(row + threadIdx.y * 4 + y) * columns + col + threadIdx.x * 4] =
            make_float4(sums[y][0], sums[y][1], sums[y][2], sums[y][3]);
}
#else
extern "C" __global__ void __launch_bounds__(256) blur(const float* __restrict__ frame,
    const float* __restrict__ aperture, float* __restrict__ blurred, int pitch, int columns)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0.0f;
    for (int ky = 0; ky < SIZE; ++ky)
#pragma unroll
        for (int kx = 0; kx < SIZE; ++kx)
            sum += aperture[ky * SIZE + kx] * frame[(y + ky) * pitch + x + kx];
    blurred[y * columns + x] = sum;
}
#endif
