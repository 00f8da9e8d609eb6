// Planted: every thread fetches the 81 pixels under its lens disc from L1 for one blurred pixel. Repair:
// a thread blurs 4 x 4 pixels, each fetched pixel stays in a register for all discs that hold it.
/* rooftree
[shape]
width = 8192
height = 4096
pitch = 8224
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
shape = ["height + 10", "pitch"]
[[buffer]]
name = "blurred"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "4 * (height + 10) * pitch + 4 * width * height"
flops = "162 * width * height"
[[launch]]
kernel = "lens_blur"
grid = ["width // (32 + 96 * REPAIRED)", "height // (8 + 24 * REPAIRED)"]
block = [32, 8]
args = ["image", "blurred", "width", "pitch"]
*/
#define RADIUS 5
#define COLUMNS (REPAIRED ? 4 : 1)
#define ROWS (REPAIRED ? 4 : 1)

extern "C" __global__ void lens_blur(const float* __restrict__ image, float* blurred, int width, int pitch)
{
    const int x = (blockIdx.x * 32 + threadIdx.x) * COLUMNS;
    const int y = (blockIdx.y * 8 + threadIdx.y) * ROWS;
    float sum[ROWS][COLUMNS] = {};
#pragma unroll
    for (int line = 0; line < ROWS + 2 * RADIUS; ++line) {
        const float* source = image + (y + line) * pitch + x;
        float pixel[16];
#if REPAIRED
#pragma unroll
        for (int i = 0; i < 16; i += 4)
            *reinterpret_cast<float4*>(pixel + i) = *reinterpret_cast<const float4*>(source + i);
#else
#pragma unroll
        for (int i = 0; i <= 2 * RADIUS; ++i) pixel[i] = source[i];
#endif
#pragma unroll
        for (int row = 0; row < ROWS; ++row)
#pragma unroll
            for (int column = 0; column < COLUMNS; ++column)
#pragma unroll
                for (int i = 0; i <= 2 * RADIUS; ++i) {
                    const int dy = line - row - RADIUS, dx = i - RADIUS;
                    const int square = dx * dx + dy * dy;
                    if (square <= RADIUS * RADIUS)
                        sum[row][column] += (1.0f - square / 40.0f) * pixel[column + i];
                }
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
#if REPAIRED
        *reinterpret_cast<float4*>(blurred + (y + row) * width + x) =
            make_float4(sum[row][0], sum[row][1], sum[row][2], sum[row][3]);
#else
        blurred[(y + row) * width + x] = sum[row][0];
#endif
}
