// Planted: full search for a block's motion, one displacement per thread: both pixels of every difference come
// from shared memory. Repair: eight displacements per thread slide over a column held in registers.
/* rooftree
[shape]
rows = 1088
cols = 1920
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "luma"
role = "input"
fill = "uniform"
shape = ["rows", "cols"]
[[buffer]]
name = "before"
role = "input"
fill = "uniform"
shape = ["rows", "cols"]
[[buffer]]
name = "match"
role = "output"
dtype = "int32"
shape = ["rows // 16", "cols // 16"]
[cost]
bytes = "8 * rows * cols + rows * cols // 64"
flops = "2048 * rows * cols"
[[launch]]
kernel = "motion_search"
grid = ["cols // 16", "rows // 16"]
block = [32, "4 if REPAIRED else 32"]
args = ["luma", "before", "match", "rows", "cols"]
*/
constexpr int REACH = 16, SPAN = 47, PITCH = 48;  // displacements from -16 to 15

// A sum of differences as an ordered number, the displacement in its last ten bits.
__device__ unsigned key(float sum, int dy, int dx) { return (__float_as_uint(sum) & ~1023u) | dy * 32 | dx; }

extern "C" __global__ void motion_search(const float* __restrict__ luma, const float* __restrict__ before,
    int* __restrict__ match, int rows, int cols)
{
    __shared__ __align__(16) float now[256];
    __shared__ float old[SPAN * PITCH];
    __shared__ unsigned best;
    const int dx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + dx, threads = blockDim.y * 32;
    const int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    if (t == 0) best = ~0u;
    for (int i = t; i < 256; i += threads)
        now[REPAIRED ? i % 16 * 16 + i / 16 : i] = luma[(y0 + i / 16) * cols + x0 + i % 16];
    for (int i = t; i < SPAN * PITCH; i += threads)
        old[i] = before[min(max(y0 + i / PITCH - REACH, 0), rows - 1) * cols
            + min(max(x0 + i % PITCH - REACH, 0), cols - 1)];
    __syncthreads();
    constexpr int EACH = REPAIRED ? 8 : 1;
    float sum[EACH] = {};
#pragma unroll 1
    for (int x = 0; x < 16; ++x) {
#if REPAIRED
        float column[16];  // of the block, stored by columns
#pragma unroll
        for (int y = 0; y < 16; y += 4) *(float4*)&column[y] = *(float4*)&now[x * 16 + y];
#pragma unroll
        for (int r = 0; r < 23; ++r) {
            const float pixel = old[(ty * 8 + r) * PITCH + x + dx];
#pragma unroll
            for (int o = 0; o < 8; ++o)
                if (r >= o && r - o < 16) sum[o] += fabsf(column[r - o] - pixel);
        }
#else
#pragma unroll
        for (int y = 0; y < 16; ++y) sum[0] += fabsf(now[y * 16 + x] - old[(ty + y) * PITCH + x + dx]);
#endif
    }
    unsigned least = ~0u;
#pragma unroll
    for (int o = 0; o < EACH; ++o) least = min(least, key(sum[o], ty * EACH + o, dx));
    least = __reduce_min_sync(~0u, least);
    if (dx == 0) atomicMin(&best, least);
    __syncthreads();
    if (t == 0) match[blockIdx.y * gridDim.x + blockIdx.x] = (int)best;
}
