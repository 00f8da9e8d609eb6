/* rooftree
where = [
    "MMA == 0 or BM >= 64 and BN >= 64 and BM * BN <= 32768 and BM <= 2 * BN and BN <= 2 * BM",
    "4 <= WARPS_M * WARPS_N and WARPS_M * WARPS_N <= 8",
    "MMA == 0 or 32 * WARPS_M <= BM and BM <= 64 * WARPS_M and 32 * WARPS_N <= BN and BN <= 64 * WARPS_N",
    "LDMATRIX == 1 or GROUP == 1 and STAGES <= 2 and BK == 32",
    "GROUP == 1 or STAGES >= 2",
    "MMA == 1 or BM <= 64 and BN <= 64 and BK == 32 and WARPS_M == 2 and WARPS_N == 2 and STAGES == 1 and LAYOUT + LDMATRIX == 0",
    "n % 8 == 0 and k % 8 == 0",
]

[tunables]
MMA      = { values = [0, 1], default = 0, methods = ["compute.tensor_cores"], help = "0: fp32 multiply-adds straight from device memory, 256 threads a block; 1: tensor cores, through tiles in shared memory" }
BM       = { values = [16, 64, 128, 256], default = 16, methods = ["memory.shared_tiling", "compute.register_tiling"], help = "rows of C per block" }
BN       = { values = [16, 64, 128, 256], default = 16, methods = ["memory.shared_tiling", "compute.register_tiling"], help = "columns of C per block" }
BK       = { values = [32, 64], default = 32, methods = ["memory.shared_tiling", "compute.loop_unrolling"], help = "depth of a tile" }
WARPS_M  = { values = [1, 2, 4], default = 2, methods = ["memory.register_reuse", "latency.block_size"], help = "warps along the rows of the block's tile" }
WARPS_N  = { values = [1, 2, 4], default = 2, methods = ["memory.register_reuse", "latency.block_size"], help = "warps along the columns" }
STAGES   = { values = [1, 2, 4], default = 1, methods = ["latency.double_buffering", "memory.async_copy"], help = "tiles in shared memory at a time, filled by cp.async" }
LAYOUT   = { values = [0, 1, 2], default = 0, methods = ["memory.shared_padding"], help = "of the tiles; 0: plain, 1: rows padded by 16 bytes, 2: XOR swizzle" }
LDMATRIX = { values = [0, 1], default = 0, methods = ["memory.vectorized_loads", "compute.warp_primitives"], help = "how fragments come from shared memory; 0: word by word, 1: four 8 x 8 matrices an instruction" }
GROUP    = { values = [1, 8], default = 1, methods = ["memory.block_swizzle"], help = "rows of tiles that neighbouring blocks go through together" }

[[launch]]
kernel = "gemm"
grid   = ["ceil_div(m, BM) * ceil_div(n, BN)"]
block  = ["32 * WARPS_M * WARPS_N if MMA == 1 else 256"]
shared = "2 * STAGES * (BM * (BK + (8 if LAYOUT == 1 else 0)) + BK * (BN + (8 if LAYOUT == 1 else 0))) if MMA == 1 else 0"
args   = ["a", "b", "c", "m", "n", "k"]
*/

typedef unsigned short bf16;  // its bits

// The tile of C that this block computes.
__device__ __forceinline__ void place(int m, int n, int& row0, int& column0)
{
    const int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    const int first = blockIdx.x / (GROUP * across) * GROUP;
    const int height = min(GROUP, down - first);
    const int within = blockIdx.x - first * across;
    row0 = (first + within % height) * BM;
    column0 = within / height * BN;
}

#if MMA
#define THREADS (32 * WARPS_M * WARPS_N)
#define WM (BM / WARPS_M)
#define WN (BN / WARPS_N)
#define PAD (LAYOUT == 1 ? 8 : 0)
#define A_PITCH (BK + PAD)
#define B_PITCH (BN + PAD)
#define A_SIZE (BM * A_PITCH)
#define STAGE_SIZE (A_SIZE + BK * B_PITCH)

// Where a tile holds 8 values from column `c` of `line` on. ldmatrix reads eight lines at one column:
// they meet all banks only if the swizzle or the padding spreads them.
__device__ __forceinline__ int a_slot(int line, int c)
{
    if (LAYOUT == 2)
        c ^= (BK == 64 ? line % 8 : line / 2 % 4) * 8;
    return line * A_PITCH + c;
}

__device__ __forceinline__ int b_slot(int line, int c)
{
    if (LAYOUT == 2)
        c ^= line % 8 * 8;
    return line * B_PITCH + c;
}

// 16 bytes, of which the first `bytes` are copied and the others zeroed.
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

__device__ __forceinline__ void load_matrices(unsigned (&r)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void load_matrices_turned(unsigned (&r)[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// D[16x8] += A[16x16] B[16x8] over the warp.
__device__ __forceinline__ void multiply_fragments(float (&d)[4], const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Tiles of A and B from depth k0 on; zeros beyond the matrices.
__device__ __forceinline__ void fill(bf16* stage, const bf16* a, const bf16* b, int row0, int column0, int k0, int m, int n, int k)
{
    const unsigned base = (unsigned)__cvta_generic_to_shared(stage);
#pragma unroll
    for (int e = 0; e < BM * BK / 8 / THREADS; ++e) {
        const int i = e * THREADS + threadIdx.x;
        const int line = i / (BK / 8), c = i % (BK / 8) * 8;
        const bool there = row0 + line < m && k0 + c < k;
        copy_async_16(base + 2 * a_slot(line, c), there ? a + (size_t)(row0 + line) * k + k0 + c : a, there ? 16 : 0);
    }
#pragma unroll
    for (int e = 0; e < BN * BK / 8 / THREADS; ++e) {
        const int i = e * THREADS + threadIdx.x;
        const int line = i / (BN / 8), c = i % (BN / 8) * 8;
        const bool there = k0 + line < k && column0 + c < n;
        copy_async_16(base + 2 * (A_SIZE + b_slot(line, c)), there ? b + (size_t)(k0 + line) * n + column0 + c : b, there ? 16 : 0);
    }
}

static_assert(BM * BK / 8 % THREADS == 0 && BN * BK / 8 % THREADS == 0, "every thread copies as much");

__device__ __forceinline__ unsigned two(const bf16* low, const bf16* high)
{
    return *low | (unsigned)*high << 16;
}

__device__ __forceinline__ void fragments_of_a(unsigned (&f)[4], const bf16* tile, int line, int c)
{
    const int lane = threadIdx.x % 32;
#if LDMATRIX
    load_matrices(f, (unsigned)__cvta_generic_to_shared(tile + a_slot(line + lane % 16, c + lane / 16 * 8)));
#else
#pragma unroll
    for (int i = 0; i < 4; ++i)
        f[i] = *reinterpret_cast<const unsigned*>(tile + a_slot(line + lane / 4 + i % 2 * 8, c + i / 2 * 8) + lane % 4 * 2);
#endif
}

// Two fragments: of 8 columns each.
__device__ __forceinline__ void fragments_of_b(unsigned (&f)[4], const bf16* tile, int line, int c)
{
    const int lane = threadIdx.x % 32;
#if LDMATRIX
    load_matrices_turned(f, (unsigned)__cvta_generic_to_shared(tile + b_slot(line + lane % 16, c + lane / 16 * 8)));
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int depth = line + i % 2 * 8 + lane % 4 * 2;
        f[i] = two(tile + b_slot(depth, c + i / 2 * 8) + lane / 4, tile + b_slot(depth + 1, c + i / 2 * 8) + lane / 4);
    }
#endif
}

__device__ __forceinline__ void compute(float (&acc)[WM / 16][WN / 8][4], const bf16* stage, int warp_row, int warp_column)
{
#pragma unroll
    for (int q = 0; q < BK; q += 16) {
        unsigned fa[WM / 16][4], fb[WN / 16][4];
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            fragments_of_a(fa[i], stage, warp_row + i * 16, q);
#pragma unroll
        for (int j = 0; j < WN / 16; ++j)
            fragments_of_b(fb[j], stage + A_SIZE, q, warp_column + j * 16);
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
#pragma unroll
            for (int j = 0; j < WN / 8; ++j)
                multiply_fragments(acc[i][j], fa[i], fb[j / 2] + j % 2 * 2);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
gemm(const bf16* __restrict__ a, const bf16* __restrict__ b, float* __restrict__ c, int m, int n, int k)
{
    extern __shared__ uint4 raw[];
    bf16* const stages = reinterpret_cast<bf16*>(raw);
    int row0, column0;
    place(m, n, row0, column0);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_N * WM, warp_column = warp % WARPS_N * WN;
    const int tiles = (k + BK - 1) / BK;
    float acc[WM / 16][WN / 8][4] = {};

#if STAGES == 1
    for (int t = 0; t < tiles; ++t) {
        __syncthreads();
        fill(stages, a, b, row0, column0, t * BK, m, n, k);
        commit_copies();
        wait_copies<0>();
        __syncthreads();
        compute(acc, stages, warp_row, warp_column);
    }
#else
#pragma unroll
    for (int t = 0; t < STAGES - 1; ++t) {
        if (t < tiles)
            fill(stages + t * STAGE_SIZE, a, b, row0, column0, t * BK, m, n, k);
        commit_copies();
    }
    for (int t = 0; t < tiles; ++t) {
        wait_copies<STAGES - 2>();
        // All threads' copies of tile t have landed, and nobody reads tile t - 1 any more.
        __syncthreads();
        const int next = t + STAGES - 1;
        if (next < tiles)
            fill(stages + next % STAGES * STAGE_SIZE, a, b, row0, column0, next * BK, m, n, k);
        commit_copies();
        compute(acc, stages + t % STAGES * STAGE_SIZE, warp_row, warp_column);
    }
#endif

#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int row = row0 + warp_row + i * 16 + h * 8 + lane / 4;
#pragma unroll
            for (int j = 0; j < WN / 8; ++j) {
                const int column = column0 + warp_column + j * 8 + lane % 4 * 2;
                if (row < m && column < n)
                    *reinterpret_cast<float2*>(c + (size_t)row * n + column) =
                        make_float2(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
            }
        }
}
#else
#define TM (BM / 16)
#define TN (BN / 16)

__device__ __forceinline__ float widen(bf16 v)
{
    return __uint_as_float((unsigned)v << 16);
}

extern "C" __global__ void __launch_bounds__(256)
gemm(const bf16* __restrict__ a, const bf16* __restrict__ b, float* __restrict__ c, int m, int n, int k)
{
    int row0, column0;
    place(m, n, row0, column0);
    row0 += threadIdx.x / 16;
    column0 += threadIdx.x % 16;
    float acc[TM][TN] = {};
    for (int q = 0; q < k; ++q) {
        float fa[TM], fb[TN];
#pragma unroll
        for (int i = 0; i < TM; ++i)
            fa[i] = widen(a[(size_t)min(row0 + 16 * i, m - 1) * k + q]);
#pragma unroll
        for (int j = 0; j < TN; ++j)
            fb[j] = widen(b[(size_t)q * n + min(column0 + 16 * j, n - 1)]);
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; ++j)
                acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
    }
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
            if (row0 + 16 * i < m && column0 + 16 * j < n)
                c[(size_t)(row0 + 16 * i) * n + column0 + 16 * j] = acc[i][j];
}
#endif
