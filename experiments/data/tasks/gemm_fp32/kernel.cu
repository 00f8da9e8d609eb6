/* rooftree
where = [
    "m % BM == 0 and n % BN == 0 and k % (BK * SPLIT_K) == 0",
    "BN <= BM and BM <= 2 * BN and TN <= TM and (TM <= 2 * TN or TM == 4)",
    "64 * TM * TN <= BM * BN and BM * BN <= 1024 * TM * TN",
    "BM % (4 * TM) == 0 and BN % (8 * TN) == 0",
    "TILED == 1 or BK == 8 and PIPELINE + WARP_TILE + A_PAD + BOUNDS == 0",
    "WARP_TILE == 0 or TN >= 4",
    "WARP_TILE == A_PAD // 4 or TM * TN == 64 and BM * BN == 16384",
    "PIPELINE < 2 or TM * TN >= 32 and BM * BN >= 8192",
    "BK == 8 or TM * TN >= 16",
    "BK < 32 or TM * TN >= 64 and PIPELINE != 1",
    "BM < 256 or TM * TN >= 64 and WARP_TILE == 1",
    "BM * BN < 65536 or TM == 16",
    "BOUNDS == 0 or TM * TN >= 64 and (BOUNDS == 1) == (BM * BN > 256 * TM * TN)",
    "BOUNDS == 0 or WARP_TILE == 1",
    "SPLIT_K == 1 or TILED * WARP_TILE == 1 and PIPELINE == 2 and TM * TN >= 64 and BK == 16",
]

[tunables]
TILED     = { values = [0, 1], default = 0, methods = ["memory.shared_tiling"], help = "1: go through tiles of A and B in shared memory" }
BM        = { values = [32, 64, 128, 256], default = 32, methods = ["memory.shared_tiling"], help = "rows of C per block" }
BN        = { values = [32, 64, 128, 256], default = 32, methods = ["memory.shared_tiling"], help = "columns of C per block" }
BK        = { values = [8, 16, 32], default = 8, methods = ["memory.shared_tiling", "compute.loop_unrolling"], help = "depth of a tile; the loop over it is unrolled" }
TM        = { values = [1, 4, 8, 16], default = 1, methods = ["compute.register_tiling", "latency.work_per_thread"], help = "rows of C per thread" }
TN        = { values = [1, 4, 8], default = 1, methods = ["compute.register_tiling", "latency.work_per_thread"], help = "columns of C per thread" }
PIPELINE  = { values = [0, 1, 2, 4], default = 0, methods = ["latency.double_buffering", "memory.async_copy"], help = "0: one buffer; 1: two, filled through registers; 2 and 4: so many, filled by cp.async" }
WARP_TILE = { values = [0, 1], default = 0, methods = ["memory.register_reuse"], help = "1: the warps tile the block's tile and 4 x 8 lanes the warp's, in chunks of 4 floats" }
A_PAD     = { values = [0, 4], default = 0, methods = ["memory.shared_padding"], help = "floats added to each row of the transposed tile of A" }
BOUNDS    = { values = [0, 1, 2], default = 0, methods = ["latency.launch_bounds"], help = "blocks per SM that the registers must leave room for; 0: not declared" }
SPLIT_K   = { values = [1, 4], default = 1, methods = ["parallelism.split_k"], help = "slices of k, each its own block; a second kernel adds them up" }

[[workspace]]
name = "partial"
dtype = "float32"
size = "SPLIT_K * m * n if SPLIT_K > 1 else 1"

[[launch]]
kernel = "gemm"
grid   = ["n // BN", "m // BM"]
block  = ["BM * BN // (TM * TN)"]
shared = "4 * BK * (BM + A_PAD + BN) * max(1, min(2, PIPELINE + 1), PIPELINE) if TILED == 1 else 0"
args   = ["a", "b", "c", "m", "n", "k"]
when   = "SPLIT_K == 1"

[[launch]]
kernel = "gemm"
grid   = ["n // BN", "m // BM", "SPLIT_K"]
block  = ["BM * BN // (TM * TN)"]
shared = "4 * BK * (BM + A_PAD + BN) * max(1, min(2, PIPELINE + 1), PIPELINE)"
args   = ["a", "b", "partial", "m", "n", "k"]
when   = "SPLIT_K > 1"

[[launch]]
kernel = "add_slices"
grid   = ["m * n // 1024"]
block  = ["256"]
args   = ["partial", "c", "m * n"]
when   = "SPLIT_K > 1"
*/

#define THREADS (BM * BN / (TM * TN))
#define A_PITCH (BM + A_PAD)
#define STAGE_FLOATS (BK * (A_PITCH + BN))

// The most floats that one access to shared memory or C can take along each edge of a thread's tile.
#define CM (TM % 4 == 0 ? 4 : 1)
#define CN (TN % 4 == 0 ? 4 : 1)

// Where a thread's outputs lie in the block's tile: row(i) and column(j) for i < TM, j < TN.
struct Place {
    int row0, column0;

    __device__ __forceinline__ Place()
    {
#if WARP_TILE
        // Chunks of four lanes or eight side by side: a warp's loads of a fragment meet each bank once.
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        row0 = warp / (BN / (8 * TN)) * (4 * TM) + lane / 8 * 4;
        column0 = warp % (BN / (8 * TN)) * (8 * TN) + lane % 8 * 4;
#else
        row0 = threadIdx.x / (BN / TN) * TM;
        column0 = threadIdx.x % (BN / TN) * TN;
#endif
    }
    __device__ __forceinline__ int row(int i) const { return WARP_TILE ? row0 + i / 4 * 16 + i % 4 : row0 + i; }
    __device__ __forceinline__ int column(int j) const { return WARP_TILE ? column0 + j / 4 * 32 + j % 4 : column0 + j; }
};

template <int N> __device__ __forceinline__ void take(float* to, const float* from)
{
    if (N == 4)
        *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
    else
        *to = *from;
}

__device__ __forceinline__ void multiply(float (&acc)[TM][TN], const float* fa, const float* fb)
{
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
            acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
}

#if TILED
// Both tiles lie in shared memory with k as the slow index; A is turned on its way in, so that
// a thread's fragment of it is contiguous.
#define A_VECTORS (BM * BK / 4)
#define B_VECTORS (BN * BK / 4)
#define A_EACH ((A_VECTORS + THREADS - 1) / THREADS)
#define B_EACH ((B_VECTORS + THREADS - 1) / THREADS)

__device__ __forceinline__ void compute(float (&acc)[TM][TN], const float* stage, const Place& place)
{
    const float* as = stage;
    const float* bs = stage + BK * A_PITCH;
#pragma unroll
    for (int q = 0; q < BK; ++q) {
        alignas(16) float fa[TM], fb[TN];
#pragma unroll
        for (int i = 0; i < TM; i += CM)
            take<CM>(fa + i, as + q * A_PITCH + place.row(i));
#pragma unroll
        for (int j = 0; j < TN; j += CN)
            take<CN>(fb + j, bs + q * BN + place.column(j));
        multiply(acc, fa, fb);
    }
}

// All extents are powers of two, so a thread keeps its place along the fast index of a tile and goes
// down by the same number of lines each time: one address, and steps that are the same for all threads.
static_assert(THREADS % BK == 0 && THREADS % (BN / 4) == 0, "a line of a tile is filled by whole threads");

#if PIPELINE < 2
#define A_LINES (4 * THREADS / BK)
#define B_LINES (4 * THREADS / BN)

struct Tiles {
    float4 a[A_EACH], b[B_EACH];

    __device__ __forceinline__ void fetch(const float* ga, const float* gb, int n, int k)
    {
        const int t = threadIdx.x;
        ga += (size_t)(t / (BK / 4)) * k + t % (BK / 4) * 4;
        gb += (size_t)(t / (BN / 4)) * n + t % (BN / 4) * 4;
#pragma unroll
        for (int e = 0; e < A_EACH; ++e)
            if (A_VECTORS >= THREADS || t < A_VECTORS)
                a[e] = *reinterpret_cast<const float4*>(ga + (size_t)(e * A_LINES) * k);
#pragma unroll
        for (int e = 0; e < B_EACH; ++e)
            if (B_VECTORS >= THREADS || t < B_VECTORS)
                b[e] = *reinterpret_cast<const float4*>(gb + (size_t)(e * B_LINES) * n);
    }
    __device__ __forceinline__ void put(float* stage) const
    {
        const int t = threadIdx.x;
        float* const as = stage + t % (BK / 4) * 4 * A_PITCH + t / (BK / 4);
        float* const bs = stage + BK * A_PITCH + t * 4;
#pragma unroll
        for (int e = 0; e < A_EACH; ++e)
            if (A_VECTORS >= THREADS || t < A_VECTORS) {
                float* const to = as + e * A_LINES;
                to[0] = a[e].x;
                to[A_PITCH] = a[e].y;
                to[2 * A_PITCH] = a[e].z;
                to[3 * A_PITCH] = a[e].w;
            }
#pragma unroll
        for (int e = 0; e < B_EACH; ++e)
            if (B_VECTORS >= THREADS || t < B_VECTORS)
                *reinterpret_cast<float4*>(bs + e * THREADS * 4) = b[e];
    }
};
#else
#define A_LINES (THREADS / BK)
#define B_LINES (4 * THREADS / BN)

static_assert(BM * BK % THREADS == 0 && B_VECTORS % THREADS == 0, "every thread copies as much, with no test in the loop");

// cp.async can scatter words, so it turns A too, a word at a time; B goes in vectors.
__device__ __forceinline__ void copy_tiles(float* stage, const float* ga, const float* gb, int n, int k)
{
    const int t = threadIdx.x;
    const unsigned base = (unsigned)__cvta_generic_to_shared(stage);
    const unsigned as = base + 4 * (t % BK * A_PITCH + t / BK);
    const unsigned bs = base + 4 * (BK * A_PITCH + t * 4);
    ga += (size_t)(t / BK) * k + t % BK;
    gb += (size_t)(t / (BN / 4)) * n + t % (BN / 4) * 4;
#pragma unroll
    for (int e = 0; e < BM * BK / THREADS; ++e)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(as + 4 * e * A_LINES), "l"(ga + (size_t)(e * A_LINES) * k) : "memory");
#pragma unroll
    for (int e = 0; e < B_EACH; ++e)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(bs + 16 * e * THREADS), "l"(gb + (size_t)(e * B_LINES) * n) : "memory");
}
#endif
#endif

extern "C" __global__ void
#if BOUNDS
__launch_bounds__(THREADS, BOUNDS)
#endif
gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k)
{
    const Place place;
    const int depth = k / SPLIT_K;
    const float* ga = a + (size_t)blockIdx.y * BM * k + blockIdx.z * depth;
    const float* gb = b + (size_t)blockIdx.z * depth * n + blockIdx.x * BN;
    float* gc = c + ((size_t)blockIdx.z * m + blockIdx.y * BM) * n + blockIdx.x * BN;

    float acc[TM][TN] = {};

#if TILED
    extern __shared__ float4 raw[];
    float* const stages = reinterpret_cast<float*>(raw);
    const int tiles = depth / BK;
#if PIPELINE == 0
    for (int t = 0; t < tiles; ++t) {
        Tiles next;
        next.fetch(ga, gb, n, k);
        ga += BK;
        gb += (size_t)BK * n;
        __syncthreads();
        next.put(stages);
        __syncthreads();
        compute(acc, stages, place);
    }
#elif PIPELINE == 1
    Tiles next;
    next.fetch(ga, gb, n, k);
    next.put(stages);
    __syncthreads();
    float* now = stages;
    float* other = stages + STAGE_FLOATS;
    for (int t = 1; t < tiles; ++t) {
        ga += BK;
        gb += (size_t)BK * n;
        next.fetch(ga, gb, n, k);
        compute(acc, now, place);
        next.put(other);
        __syncthreads();
        float* const swap = now;
        now = other;
        other = swap;
    }
    compute(acc, now, place);
#else
#pragma unroll
    for (int t = 0; t < PIPELINE - 1; ++t) {
        if (t < tiles)
            copy_tiles(stages + t * STAGE_FLOATS, ga + t * BK, gb + (size_t)t * BK * n, n, k);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    ga += (PIPELINE - 1) * BK;
    gb += (size_t)(PIPELINE - 1) * BK * n;
    for (int t = 0; t < tiles; ++t) {
        asm volatile("cp.async.wait_group %0;" ::"n"(PIPELINE - 2) : "memory");
        // All threads' copies of tile t have landed, and nobody reads tile t - 1 any more.
        __syncthreads();
        if (t + PIPELINE - 1 < tiles)
            copy_tiles(stages + (t + PIPELINE - 1) % PIPELINE * STAGE_FLOATS, ga, gb, n, k);
        asm volatile("cp.async.commit_group;" ::: "memory");
        ga += BK;
        gb += (size_t)BK * n;
        compute(acc, stages + t % PIPELINE * STAGE_FLOATS, place);
    }
#endif
#else
    for (int q = 0; q < depth; ++q) {
        alignas(16) float fa[TM], fb[TN];
#pragma unroll
        for (int i = 0; i < TM; ++i)
            fa[i] = ga[(size_t)place.row(i) * k + q];
#pragma unroll
        for (int j = 0; j < TN; j += CN)
            take<CN>(fb + j, gb + (size_t)q * n + place.column(j));
        multiply(acc, fa, fb);
    }
#endif

#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; j += CN)
            take<CN>(gc + (size_t)place.row(i) * n + place.column(j), acc[i] + j);
}

#if SPLIT_K > 1
extern "C" __global__ void add_slices(const float* __restrict__ partial, float* __restrict__ c, int size)
{
    const int i = (blockIdx.x * 256 + threadIdx.x) * 4;
    float4 sum = *reinterpret_cast<const float4*>(partial + i);
#pragma unroll
    for (int s = 1; s < SPLIT_K; ++s) {
        const float4 v = *reinterpret_cast<const float4*>(partial + (size_t)s * size + i);
        sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
    }
    *reinterpret_cast<float4*>(c + i) = sum;
}
#endif
