/* rooftree
where = [
    "rows % VEC == 0 and cols % VEC == 0",
    "4 * BLOCK <= TILE * TILE and TILE * TILE <= 64 * BLOCK",
    "VEC == 1 or TILE * TILE >= 16 * BLOCK or TILE == 32 and ORDER == 0",
    "STAGE > 0 or LAYOUT == 0",
    "STAGE < 2 or VEC == 4",
    "HINT == 0 or VEC == 4",
    "TILE < 256 or ORDER + HINT == 0",
]

[tunables]
STAGE  = { values = [0, 1, 2], default = 0, methods = ["memory.shared_tiling", "memory.async_copy"], help = "0: straight through registers; 1: through a tile in shared memory; 2: the same, filled by cp.async" }
TILE   = { values = [32, 64, 128, 256], default = 32, methods = ["memory.shared_tiling"], help = "a block transposes TILE x TILE" }
BLOCK  = { values = [64, 256, 1024], default = 256, methods = ["latency.block_size", "latency.work_per_thread"], help = "threads per block" }
VEC    = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"], help = "a thread moves VEC x VEC pieces, VEC floats per access" }
LAYOUT = { values = [0, 1, 2], default = 0, methods = ["memory.shared_padding"], help = "of the tile in shared memory; 0: plain, 1: rows padded by one access, 2: XOR swizzle" }
ORDER  = { values = [0, 1, 2], default = 0, methods = ["memory.block_swizzle"], help = "of the blocks over the input; 0: row by row, 1: along diagonals, 2: in bands of 8 tile rows" }
HINT   = { values = [0, 1], default = 0, methods = ["memory.cache_hints"], help = "1: streaming (evict-first) loads and stores" }

[[launch]]
kernel = "transpose"
grid   = ["ceil_div(rows, TILE) * ceil_div(cols, TILE)"]
block  = ["BLOCK"]
shared = "4 * TILE * (TILE + (VEC if LAYOUT == 1 else 0)) if STAGE > 0 else 0"
args   = ["x", "y", "rows", "cols"]
*/

// The tile is cut into pieces of VEC x VEC; a thread turns a piece over in its registers, so that
// both sides of device memory see accesses of VEC floats. SIDE pieces make up an edge of the tile.
#define SIDE (TILE / VEC)
#define PIECES (SIDE * SIDE / BLOCK)
#define PITCH (LAYOUT == 1 ? SIDE + 1 : SIDE)
#define BANKS (32 / VEC)

static_assert(PIECES * BLOCK == SIDE * SIDE, "every thread has the same number of pieces, at least one");

struct alignas(4 * VEC) Pack {
    float v[VEC];
};

__device__ __forceinline__ Pack load(const float* p)
{
    Pack r;
#if VEC == 4
#if HINT
    const float4 t = __ldcs(reinterpret_cast<const float4*>(p));
#else
    const float4 t = *reinterpret_cast<const float4*>(p);
#endif
    r.v[0] = t.x; r.v[1] = t.y; r.v[2] = t.z; r.v[3] = t.w;
#else
    r.v[0] = *p;
#endif
    return r;
}

__device__ __forceinline__ void store(float* p, const Pack& r)
{
#if VEC == 4
    const float4 t = make_float4(r.v[0], r.v[1], r.v[2], r.v[3]);
#if HINT
    __stcs(reinterpret_cast<float4*>(p), t);
#else
    *reinterpret_cast<float4*>(p) = t;
#endif
#else
    *p = r.v[0];
#endif
}

// Where the shared tile holds pack `unit` of `line`. Along a line, eight lanes (32 for VEC 1) meet
// all banks in any layout; across lines VEC apart, only the swizzle keeps vectors from colliding.
__device__ __forceinline__ int slot(int line, int unit)
{
#if LAYOUT == 2
    unit ^= line / VEC % BANKS;
#endif
    return line * PITCH + unit;
}

__device__ __forceinline__ void turn(Pack (&p)[VEC])
{
#pragma unroll
    for (int i = 0; i < VEC; ++i)
#pragma unroll
        for (int j = 0; j < i; ++j) {
            const float t = p[i].v[j];
            p[i].v[j] = p[j].v[i];
            p[j].v[i] = t;
        }
}

__device__ __forceinline__ void copy_async(Pack* to, const float* from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

__device__ __forceinline__ void place(int across, int down, int& tx, int& ty)
{
    const int b = blockIdx.x;
#if ORDER == 2
    const int first = b / (8 * across) * 8;
    const int height = min(8, down - first);
    const int within = b - first * across;
    ty = first + within % height;
    tx = within / height;
#else
    ty = b / across;
    tx = b % across;
#if ORDER == 1
    tx = (tx + ty) % across;
#endif
#endif
}

extern "C" __global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols)
{
    int tx, ty;
    place((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE, tx, ty);
    const int row0 = ty * TILE;
    const int col0 = tx * TILE;

#if STAGE == 0
    Pack p[PIECES][VEC];
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        const int piece = k * BLOCK + threadIdx.x;
        const int r = row0 + piece / SIDE * VEC, c = col0 + piece % SIDE * VEC;
        if (r < rows && c < cols)
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                p[k][i] = load(x + (size_t)(r + i) * cols + c);
    }
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        const int piece = k * BLOCK + threadIdx.x;
        const int r = row0 + piece / SIDE * VEC, c = col0 + piece % SIDE * VEC;
        turn(p[k]);
        if (r < rows && c < cols)
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                store(y + (size_t)(c + i) * rows + r, p[k][i]);
    }
#else
    extern __shared__ float4 raw[];
    Pack* tile = reinterpret_cast<Pack*>(raw);

#if STAGE == 1
    // The tile is turned on the way in: its lines are columns of x.
    Pack p[PIECES][VEC];
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        const int piece = k * BLOCK + threadIdx.x;
        const int r = row0 + piece / SIDE * VEC, c = col0 + piece % SIDE * VEC;
        if (r < rows && c < cols)
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                p[k][i] = load(x + (size_t)(r + i) * cols + c);
    }
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        const int piece = k * BLOCK + threadIdx.x;
        turn(p[k]);
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            tile[slot(piece % SIDE * VEC + i, piece / SIDE)] = p[k][i];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PIECES * VEC; ++k) {
        const int pack = k * BLOCK + threadIdx.x;
        const int line = pack / SIDE, unit = pack % SIDE;
        const int c = col0 + line, r = row0 + unit * VEC;
        if (c < cols && r < rows)
            store(y + (size_t)c * rows + r, tile[slot(line, unit)]);
    }
#else
    // The copy engine cannot turn anything, so here the tile's lines are rows of x and it is turned on the way out.
#pragma unroll
    for (int k = 0; k < PIECES * VEC; ++k) {
        const int pack = k * BLOCK + threadIdx.x;
        const int line = pack / SIDE, unit = pack % SIDE;
        const int r = row0 + line, c = col0 + unit * VEC;
        if (r < rows && c < cols)
            copy_async(&tile[slot(line, unit)], x + (size_t)r * cols + c);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PIECES; ++k) {
        const int piece = k * BLOCK + threadIdx.x;
        const int u = piece / SIDE, d = piece % SIDE;
        const int r = row0 + d * VEC, c = col0 + u * VEC;
        Pack p[VEC];
        if (r < rows && c < cols) {
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                p[i] = tile[slot(d * VEC + i, u)];
            turn(p);
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                store(y + (size_t)(c + i) * rows + r, p[i]);
        }
    }
#endif
#endif
}
