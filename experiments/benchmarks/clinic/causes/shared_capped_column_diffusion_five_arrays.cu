// Planted: implicit vertical diffusion first lays out all three diagonals, the right side and the solution of 64 columns in
// shared memory, 60 KB a block. Repair: rows are made as they are eliminated; two arrays stay, 24 KB.
/* rooftree
[shape]
columns = 1048576
levels = 48
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "mixing"
role = "input"
shape = ["levels", "columns"]
[[buffer]]
name = "heat"
role = "input"
shape = ["levels", "columns"]
[[buffer]]
name = "mixed"
role = "output"
shape = ["levels", "columns"]
[cost]
bytes = "12 * levels * columns"
flops = "14 * levels * columns"
[[launch]]
kernel = "diffuse"
grid = ["columns // 64"]
block = [64]
shared = "(2 if REPAIRED else 5) * levels * 256"
args = ["mixing", "heat", "mixed", "columns"]
*/
constexpr int LEVELS = 48, SIZE = LEVELS * 64;
extern __shared__ float arrays[];

extern "C" __global__ void diffuse(const float* __restrict__ mixing, const float* __restrict__ heat,
    float* __restrict__ mixed, int columns)
{
    const int t = threadIdx.x, column = blockIdx.x * 64 + t;
    float *upper = arrays + t, *solution = upper + SIZE;
    float above = 0.0f, c = 0.0f, d = 0.0f;  // exchange with the level above, last row eliminated
#if !REPAIRED
    float *lower = upper + 2 * SIZE, *diagonal = upper + 3 * SIZE, *right = upper + 4 * SIZE;
#pragma unroll 4
    for (int l = 0; l < LEVELS; ++l) {
        const float below = l + 1 < LEVELS ? 0.3f * fabsf(mixing[l * columns + column]) : 0.0f;
        lower[l * 64] = -above;
        diagonal[l * 64] = 1.0f + above + below;
        upper[l * 64] = -below;
        right[l * 64] = heat[l * columns + column];
        above = below;
    }
#endif
#pragma unroll 4
    for (int l = 0; l < LEVELS; ++l) {
#if REPAIRED
        const float below = l + 1 < LEVELS ? 0.3f * fabsf(mixing[l * columns + column]) : 0.0f;
        const float low = -above, middle = 1.0f + above + below, up = -below, side = heat[l * columns + column];
        above = below;
#else
        const float low = lower[l * 64], middle = diagonal[l * 64], up = upper[l * 64], side = right[l * 64];
#endif
        const float pivot = __fdividef(1.0f, middle - low * c);
        upper[l * 64] = c = up * pivot;
        solution[l * 64] = d = (side - low * d) * pivot;
    }
    float value = 0.0f;
    for (int l = LEVELS - 1; l >= 0; --l)
        mixed[l * columns + column] = value = solution[l * 64] - upper[l * 64] * value;
}
