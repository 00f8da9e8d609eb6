// Planted: a thread follows one instrument's row of returns, so that lanes read and write 2 KB apart.
// Repair: a warp moves 32 x 32 tiles along the rows and each lane follows its row in shared memory.
/* rooftree
[shape]
instruments = 131072
days = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "returns"
role = "input"
shape = ["instruments", "days"]
[[buffer]]
name = "variance"
role = "output"
shape = ["instruments", "days"]
[cost]
bytes = "8 * instruments * days"
flops = "4 * instruments * days"
[[launch]]
kernel = "ewma_variance"
grid = ["instruments // 128"]
block = [128]
args = ["returns", "variance"]
*/
constexpr int DAYS = 512;
__device__ float updated(float variance, float r) { return fmaf(0.94f, variance, 0.06f * r * r); }

extern "C" __global__ void ewma_variance(const float* __restrict__ returns, float* __restrict__ variance)
{
    float v = 1e-4f;
#if REPAIRED
    __shared__ float tiles[4][32][33];
    float(&tile)[32][33] = tiles[threadIdx.x / 32];
    const int lane = threadIdx.x % 32, first = (blockIdx.x * 128 + threadIdx.x - lane) * DAYS + lane;
    for (int day = 0; day < DAYS; day += 32) {
#pragma unroll
        for (int k = 0; k < 32; ++k)
            tile[k][lane] = returns[first + k * DAYS + day];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 32; ++k)
            tile[lane][k] = v = updated(v, tile[lane][k]);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 32; ++k)
            variance[first + k * DAYS + day] = tile[k][lane];
        __syncwarp();
    }
#else
    const int row = (blockIdx.x * 128 + threadIdx.x) * DAYS;
#pragma unroll 8
    for (int day = 0; day < DAYS; ++day)
        variance[row + day] = v = updated(v, returns[row + day]);
#endif
}
