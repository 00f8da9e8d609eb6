// Planted: sixteen screen pixels lie between the same 6 x 6 texels, and each thread fetches all 36 for
// its one. Repair: a thread makes the 4 x 4 pixels of a texel, fetching each of the 36 once.
/* rooftree
[shape]
width = 8192
height = 8192
pitch = 2056
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "texels"
role = "input"
fill = "uniform"
shape = ["height // 4 + 5", "pitch"]
[[buffer]]
name = "kernel_at"
role = "input"
shape = [4, 8]
[[buffer]]
name = "screen"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "4 * (height // 4 + 5) * pitch + 4 * width * height"
flops = "30 * width * height"
[[launch]]
kernel = "upscale"
grid = ["width // (128 if REPAIRED else 32)", "height // (32 if REPAIRED else 8)"]
block = [32, 8]
args = ["texels", "kernel_at", "screen", "width", "pitch"]
*/
#define PHASES (REPAIRED ? 4 : 1)

extern "C" __global__ void upscale(const float* __restrict__ texels,
    const float* __restrict__ kernel_at, float* screen, int width, int pitch)
{
    const int x = (blockIdx.x * 32 + threadIdx.x) * PHASES;
    const int y = (blockIdx.y * 8 + threadIdx.y) * PHASES;
    float wx[PHASES][6], wy[PHASES][6], sum[PHASES][PHASES] = {};
#pragma unroll
    for (int p = 0; p < PHASES; ++p)
#pragma unroll
        for (int c = 0; c < 6; ++c) {
            wx[p][c] = kernel_at[(REPAIRED ? p : x % 4) * 8 + c];
            wy[p][c] = kernel_at[(REPAIRED ? p : y % 4) * 8 + c];
        }
#pragma unroll
    for (int r = 0; r < 6; ++r) {
        const float* from = texels + (y / 4 + r) * pitch + x / 4;
        float across[PHASES] = {};
#pragma unroll
        for (int c = 0; c < 6; ++c)
#pragma unroll
            for (int p = 0; p < PHASES; ++p) across[p] += wx[p][c] * from[c];
#pragma unroll
        for (int q = 0; q < PHASES * PHASES; ++q)
            sum[q / PHASES][q % PHASES] += wy[q / PHASES][r] * across[q % PHASES];
    }
#pragma unroll
    for (int q = 0; q < PHASES; ++q)
#if REPAIRED
        *(float4*)(screen + (y + q) * width + x) =
            make_float4(sum[q][0], sum[q][1], sum[q][2], sum[q][3]);
#else
        screen[y * width + x] = sum[0][0];
#endif
}
