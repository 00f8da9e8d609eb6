// Planted: the rows of the shared tiles are 32 floats apart, and the lanes of a warp read a column.
// Repair: rows of 33.
/* rooftree
[shape]
known = 4608
fresh = 4224
genes = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "atlas"
role = "input"
shape = ["known", "genes"]
[[buffer]]
name = "query"
role = "input"
shape = ["fresh", "genes"]
[[buffer]]
name = "distance"
role = "output"
shape = ["known", "fresh"]
[cost]
bytes = "4 * (known + fresh) * genes + 4 * known * fresh"
flops = "2 * known * fresh * genes"
[[launch]]
kernel = "manhattan"
grid = ["fresh // 128", "known // 64"]
block = [32, 8]
args = ["atlas", "query", "distance", "fresh", "genes"]
*/
#define ROWS 64
#define COLS 128
#define DEPTH 32
#define PITCH (REPAIRED ? 33 : 32)

// City-block distances between the expression profiles of two sets of cells.
extern "C" __global__ void __launch_bounds__(256, 2) manhattan(const float* __restrict__ atlas,
    const float* __restrict__ query, float* __restrict__ distance, int width, int length)
{
    __shared__ float left[ROWS][PITCH], right[COLS][PITCH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * ROWS, col = blockIdx.x * COLS;
    float sums[8][4] = {};

    for (int base = 0; base < length; base += DEPTH) {
#pragma unroll
        for (int r = 0; r < ROWS; r += 8)
            left[r + ty][tx] = atlas[(row + r + ty) * length + base + tx];
#pragma unroll
        for (int r = 0; r < COLS; r += 8)
            right[r + ty][tx] = query[(col + r + ty) * length + base + tx];
        __syncthreads();

#pragma unroll 8
        for (int k = 0; k < DEPTH; ++k) {
            float u[8], v[4];
#pragma unroll
            for (int i = 0; i < 8; ++i)
                u[i] = left[ty * 8 + i][k];
#pragma unroll
            for (int j = 0; j < 4; ++j)
                v[j] = right[tx + 32 * j][k];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    sums[i][j] += fabsf(u[i] - v[j]);
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
            distance[(row + ty * 8 + i) * width + col + tx + 32 * j] = sums[i][j];
}
