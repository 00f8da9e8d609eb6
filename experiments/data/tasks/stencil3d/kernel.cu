/* rooftree
where = [
    "nx % 4 == 0",
    "128 <= BX * BY and BX * BY <= 512",
    "VEC * TY <= 8",
    "DEPTH > 1 or (STAGE < 2 and UNROLL == 1)",
]

[tunables]
BX     = { values = [16, 32], default = 32, methods = ["latency.block_size", "memory.coalesced_access"], help = "threads of a block along x" }
BY     = { values = [4, 8, 16], default = 8, methods = ["latency.block_size"], help = "threads of a block along y" }
VEC    = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads", "compute.register_tiling"], help = "points per thread along x, and floats per access" }
TY     = { values = [1, 2, 4], default = 1, methods = ["compute.register_tiling", "latency.work_per_thread"], help = "points per thread along y" }
DEPTH  = { values = [1, 16, 64], default = 1, methods = ["memory.register_reuse"], help = "planes that a block goes through, with nine planes of its points in registers" }
STAGE  = { values = [0, 1, 2], default = 0, methods = ["memory.shared_tiling", "memory.async_copy", "latency.double_buffering"], help = "where the neighbours in a plane come from; 0: device memory, 1: a tile in shared memory, 2: two tiles, filled by cp.async" }
UNROLL = { values = [1, 9], default = 1, methods = ["compute.loop_unrolling"], help = "planes per step of the loop; at nine the queue of planes need not be moved on" }

[[launch]]
kernel = "stencil"
grid   = ["ceil_div(nx, BX * VEC)", "ceil_div(ny, BY * TY)", "ceil_div(nz, DEPTH)"]
block  = ["BX", "BY"]
shared = "4 * STAGE * (BX * VEC + 8) * (BY * TY + 8)"
args   = ["u", "v", "nx", "ny", "nz"]
*/

#define RADIUS 4
#define TILE_X (BX * VEC)
#define TILE_Y (BY * TY)
#define PITCH (TILE_X + 2 * RADIUS)
#define LINES (TILE_Y + 2 * RADIUS)

struct alignas(4 * VEC) Pack {
    float v[VEC];
};

__device__ __forceinline__ Pack load(const float* p)
{
    return *reinterpret_cast<const Pack*>(p);
}

// The second derivative to eighth order: weights at distance 0 (of all three axes together) to 4.
__device__ __forceinline__ float weight(int distance)
{
    const float weights[RADIUS + 1] = {-205.0f / 24.0f, 8.0f / 5.0f, -1.0f / 5.0f, 8.0f / 315.0f, -1.0f / 560.0f};
    return weights[distance];
}

#if STAGE == 2
__device__ __forceinline__ void copy_async_16(unsigned to, const void* from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#endif

#if STAGE
// Fill a tile from a plane of u, starting at the tile's corner. The corners of the halo are never used.
__device__ __forceinline__ void fill(float* tile, const float* corner, int pitch, int width, int height)
{
    constexpr int WIDE = STAGE == 2 ? 4 : VEC;
    for (int i = threadIdx.y * BX + threadIdx.x; i < PITCH / WIDE * LINES; i += BX * BY) {
        const int line = i / (PITCH / WIDE), c = i % (PITCH / WIDE) * WIDE;
        const bool inner = line >= RADIUS && line < LINES - RADIUS || c >= RADIUS && c < PITCH - RADIUS;
        if (inner && line < height && c < width) {
            const float* from = corner + (size_t)line * pitch + c;
#if STAGE == 2
            copy_async_16((unsigned)__cvta_generic_to_shared(tile + line * PITCH + c), from, 16);
#else
            *reinterpret_cast<Pack*>(tile + line * PITCH + c) = load(from);
#endif
        }
    }
}
#endif

// u has a halo of RADIUS on every side: v[z][y][x] is about u[z + 4][y + 4][x + 4].
extern "C" __global__ void __launch_bounds__(BX * BY)
stencil(const float* __restrict__ u, float* __restrict__ v, int nx, int ny, int nz)
{
    const int x = blockIdx.x * TILE_X + threadIdx.x * VEC;
    const int y = blockIdx.y * TILE_Y + threadIdx.y * TY;
    const int z0 = blockIdx.z * DEPTH, end = min(nz, z0 + DEPTH);
    const int pitch = nx + 2 * RADIUS;
    const size_t plane = (size_t)pitch * (ny + 2 * RADIUS);
    // This thread's first point, in plane z0 - RADIUS; rows past the halo read its last one again.
    const float* column = u + z0 * plane + (x < nx ? x : 0) + RADIUS;
    int rows[TY];
#pragma unroll
    for (int t = 0; t < TY; ++t)
        rows[t] = (min(y + t, ny - 1 + RADIUS) + RADIUS) * pitch;

#if STAGE
    extern __shared__ float4 raw[];
    float* const tiles = reinterpret_cast<float*>(raw);
    const float* corner = u + (z0 + RADIUS) * plane + (size_t)blockIdx.y * TILE_Y * pitch + blockIdx.x * TILE_X;
    const int width = pitch - blockIdx.x * TILE_X, height = ny + 2 * RADIUS - blockIdx.y * TILE_Y;
#endif
#if STAGE == 2
    fill(tiles, corner, pitch, width, height);
    commit_copies();
#endif

    // queue[d]: this thread's points in the planes z - RADIUS + d.
    Pack queue[2 * RADIUS + 1][TY];
#pragma unroll
    for (int d = 0; d < 2 * RADIUS; ++d)
#pragma unroll
        for (int t = 0; t < TY; ++t)
            queue[d + 1][t] = load(column + d * plane + rows[t]);
    column += 2 * RADIUS * plane;

#pragma unroll UNROLL
    for (int z = z0; z < end; ++z) {
#pragma unroll
        for (int d = 0; d < 2 * RADIUS; ++d)
#pragma unroll
            for (int t = 0; t < TY; ++t)
                queue[d][t] = queue[d + 1][t];
#pragma unroll
        for (int t = 0; t < TY; ++t)
            queue[2 * RADIUS][t] = load(column + rows[t]);
        column += plane;

#if STAGE
        float* tile = tiles;
#if STAGE == 2
        tile += (z - z0) % 2 * (PITCH * LINES);
        wait_copies<0>();
        // All copies of this plane have landed, and nobody reads the other tile any more.
        __syncthreads();
        corner += plane;
        if (z + 1 < end)
            fill(tiles + (z + 1 - z0) % 2 * (PITCH * LINES), corner, pitch, width, height);
        commit_copies();
#else
        __syncthreads();
        fill(tile, corner, pitch, width, height);
        corner += plane;
        __syncthreads();
#endif
        const float* here = tile + (threadIdx.y * TY + RADIUS) * PITCH + threadIdx.x * VEC + RADIUS;
#endif
        if (x >= nx || y >= ny)
            continue;
#if !STAGE
        const float* here = u + (z + RADIUS) * plane + (size_t)(y + RADIUS) * pitch + x + RADIUS;
#endif

        Pack sum[TY];
        // Along z, from the queue.
#pragma unroll
        for (int t = 0; t < TY; ++t)
#pragma unroll
            for (int i = 0; i < VEC; ++i) {
                sum[t].v[i] = weight(0) * queue[RADIUS][t].v[i];
#pragma unroll
                for (int d = 1; d <= RADIUS; ++d)
                    sum[t].v[i] = fmaf(weight(d), queue[RADIUS - d][t].v[i] + queue[RADIUS + d][t].v[i], sum[t].v[i]);
            }
        // Along y: each row above, below or among this thread's is read once.
        Pack down[TY + 2 * RADIUS];
#pragma unroll
        for (int r = 0; r < TY + 2 * RADIUS; ++r)
            if (r >= RADIUS && r < RADIUS + TY)
                down[r] = queue[RADIUS][r - RADIUS];
#if STAGE
            else
                down[r] = load(here + (r - RADIUS) * PITCH);
#else
            else
                down[r] = load(here + min(r - RADIUS, ny + RADIUS - 1 - y) * pitch);
#endif
#pragma unroll
        for (int t = 0; t < TY; ++t)
#pragma unroll
            for (int i = 0; i < VEC; ++i)
#pragma unroll
                for (int d = 1; d <= RADIUS; ++d)
                    sum[t].v[i] = fmaf(weight(d), down[t + RADIUS - d].v[i] + down[t + RADIUS + d].v[i], sum[t].v[i]);
        // Along x.
#pragma unroll
        for (int t = 0; t < TY; ++t) {
            if (y + t >= ny)
                break;
            float across[VEC + 2 * RADIUS];
#pragma unroll
            for (int c = 0; c < VEC + 2 * RADIUS; c += VEC) {
                Pack p;
                if (c == RADIUS)
                    p = queue[RADIUS][t];
#if STAGE
                else
                    p = load(here + t * PITCH + c - RADIUS);
#else
                else
                    p = load(here + t * pitch + c - RADIUS);
#endif
#pragma unroll
                for (int i = 0; i < VEC; ++i)
                    across[c + i] = p.v[i];
            }
#pragma unroll
            for (int i = 0; i < VEC; ++i)
#pragma unroll
                for (int d = 1; d <= RADIUS; ++d)
                    sum[t].v[i] = fmaf(weight(d), across[i + RADIUS - d] + across[i + RADIUS + d], sum[t].v[i]);
            *reinterpret_cast<Pack*>(v + ((size_t)z * ny + y + t) * nx + x) = sum[t];
        }
    }
}
