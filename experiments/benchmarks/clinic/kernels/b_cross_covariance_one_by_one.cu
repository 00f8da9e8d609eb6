// Planted: a thread accumulates one product, so that each multiply-add reads two words of shared
// memory. Repair: an 8 x 4 tile per thread in registers, 12 words for 32 multiply-adds.
/* rooftree
[shape]
nx = 1536
ny = 2048
steps = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["steps", "nx"]
[[buffer]]
name = "y"
role = "input"
shape = ["steps", "ny"]
[[buffer]]
name = "covariance"
role = "output"
shape = ["nx", "ny"]
[cost]
bytes = "4 * (steps * nx + steps * ny + nx * ny)"
flops = "2 * nx * ny * steps"
[[launch]]
kernel = "cross_covariance"
grid = ["ny // 64 if REPAIRED else ny // 32", "nx // 128 if REPAIRED else nx // 16"]
block = ["16 if REPAIRED else 32", 16]
args = ["x", "y", "covariance", "nx", "ny", "steps"]
*/
constexpr int ROWS = REPAIRED ? 8 : 1, COLUMNS = REPAIRED ? 4 : 1;  // of a thread's tile
constexpr int WIDE = REPAIRED ? 16 : 32, TALL = 16, DEPTH = 16;
constexpr int TILE_I = TALL * ROWS, TILE_J = WIDE * COLUMNS;

// Copies a tile of DEPTH time steps, `width` series wide, without passing through registers.
template <unsigned width> __device__ void fetch(float* to, const float* from, int n)
{
    constexpr unsigned QUADS = DEPTH * width / 4, THREADS = WIDE * TALL;
#pragma unroll
    for (unsigned first = 0; first < QUADS; first += THREADS) {
        const unsigned i = first + threadIdx.y * WIDE + threadIdx.x;
        const unsigned step = i / (width / 4), series = i % (width / 4) * 4;
        const unsigned address = (unsigned)__cvta_generic_to_shared(to + step * width + series);
        if (QUADS % THREADS == 0 || i < QUADS)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                :: "r"(address), "l"(from + step * n + series));
    }
}

extern "C" __global__ void __launch_bounds__(WIDE * TALL, REPAIRED ? 3 : 4) cross_covariance(
    const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ covariance,
    int nx, int ny, int steps)
{
    __shared__ __align__(16) float xs[2][DEPTH][TILE_I], ys[2][DEPTH][TILE_J];
    const int i = threadIdx.y * ROWS, j = threadIdx.x * COLUMNS;
    x += blockIdx.y * TILE_I;
    y += blockIdx.x * TILE_J;
    fetch<TILE_I>(xs[0][0], x, nx);
    fetch<TILE_J>(ys[0][0], y, ny);
    asm volatile("cp.async.commit_group;");
    float sum[ROWS][COLUMNS] = {};
    for (int step = 0; step < steps; step += DEPTH) {
        const int now = step / DEPTH % 2;
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        if (step + DEPTH < steps) {
            fetch<TILE_I>(xs[1 - now][0], x + (step + DEPTH) * nx, nx);
            fetch<TILE_J>(ys[1 - now][0], y + (step + DEPTH) * ny, ny);
        }
#pragma unroll
        for (int k = 0; k < DEPTH; ++k)
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
#pragma unroll
                for (int c = 0; c < COLUMNS; ++c)
                    sum[r][c] += xs[now][k][i + r] * ys[now][k][j + c];
    }
    covariance += (blockIdx.y * TILE_I + i) * ny + blockIdx.x * TILE_J + j;
    const float scale = 1.0f / steps;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#if REPAIRED
        *(float4*)&covariance[r * ny] = make_float4(
            sum[r][0] * scale, sum[r][1] * scale, sum[r][2] * scale, sum[r][3] * scale);
#else
        covariance[r * ny] = sum[r][0] * scale;
#endif
}
