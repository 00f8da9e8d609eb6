/* rooftree
where = [
    "MMA == 0 or BM >= 64 and BN >= 64 and BM * BN <= 32768",
    "MMA != 1 or BM <= 2 * BN and BN <= 2 * BM",
    "4 <= WARPS_M * WARPS_N and WARPS_M * WARPS_N <= 8",
    "MMA != 1 or 32 * WARPS_M <= BM and BM <= 64 * WARPS_M and 32 * WARPS_N <= BN and BN <= 64 * WARPS_N",
    "MMA == 2 or LDMATRIX == 1 or GROUP == 1 and STAGES <= 2 and BK == 32",
    "GROUP == 1 or STAGES >= 2",
    "MMA > 0 or BM <= 64 and BN <= 64 and BK == 32 and STAGES == 1 and LAYOUT + LDMATRIX == 0",
    "MMA == 1 or WARPS_M == 2 and WARPS_N == 2",
    "MMA == 2 or STAGES in [1, 2, 4] and CLUSTER == 1 and PINGPONG + BLOCKS + WIDE == 0",
    "MMA < 2 or BN >= 128 and BK == 64 and LAYOUT + LDMATRIX == 0 and 2 <= STAGES",
    "MMA < 2 or STAGES * (BM + BN) <= 1792",
    "MMA < 2 or 64 * (2 - PINGPONG) <= BM and BM * BN <= 16384 * (2 - PINGPONG)",
    "PINGPONG == 0 or BLOCKS > 0",
    "n % 8 == 0 and k % 8 == 0",
]

[tunables]
MMA      = { values = [0, 1, 2], default = 0, methods = ["compute.tensor_cores", "compute.wgmma", "memory.tma_loads", "latency.warp_specialization"], help = "0: fp32 multiply-adds straight from device memory, 256 threads a block; 1: tensor cores by mma.sync, through tiles in shared memory; 2: by wgmma, two warpgroups computing and one that has tiles copied by TMA" }
BM       = { values = [16, 64, 128, 256], default = 16, methods = ["memory.shared_tiling", "compute.register_tiling"], help = "rows of C per block; with PINGPONG per warpgroup" }
BN       = { values = [16, 64, 128, 256], default = 16, methods = ["memory.shared_tiling", "compute.register_tiling"], help = "columns of C per block" }
BK       = { values = [32, 64], default = 32, methods = ["memory.shared_tiling", "compute.loop_unrolling"], help = "depth of a tile" }
WARPS_M  = { values = [1, 2, 4], default = 2, methods = ["memory.register_reuse", "latency.block_size"], help = "with mma.sync: warps along the rows of the block's tile" }
WARPS_N  = { values = [1, 2, 4], default = 2, methods = ["memory.register_reuse", "latency.block_size"], help = "with mma.sync: warps along the columns" }
STAGES   = { values = [1, 2, 3, 4, 6], default = 1, methods = ["latency.double_buffering", "memory.async_copy", "latency.mbarrier_pipeline"], help = "tiles in shared memory at a time, filled by cp.async, with wgmma by TMA" }
LAYOUT   = { values = [0, 1, 2], default = 0, methods = ["memory.shared_padding"], help = "of the tiles for mma.sync; 0: plain, 1: rows padded by 16 bytes, 2: XOR swizzle" }
LDMATRIX = { values = [0, 1], default = 0, methods = ["memory.vectorized_loads", "compute.warp_primitives"], help = "how mma.sync's fragments come from shared memory; 0: word by word, 1: four 8 x 8 matrices an instruction" }
GROUP    = { values = [1, 8], default = 1, methods = ["memory.block_swizzle"], help = "rows of tiles that neighbouring blocks, or clusters, go through together" }
CLUSTER  = { values = [1, 2], default = 1, methods = ["memory.cluster_multicast"], help = "with wgmma: blocks, one below the other, that read the same tile of B, each half of it for both" }
PINGPONG = { values = [0, 1], default = 0, methods = ["latency.warp_specialization"], help = "with wgmma; 0: both warpgroups share a tile, 1: each has its own, so that one stores while the other multiplies" }
BLOCKS   = { values = [0, 132], default = 0, methods = ["latency.persistent_grid", "latency.stream_k"], help = "with wgmma: blocks that go through all tiles, as an H200 has multiprocessors; 0: a block for each" }
WIDE     = { values = [0, 1], default = 0, methods = ["memory.vectorized_loads"], help = "with wgmma; 1: neighbouring lanes exchange sums, so that each stores 16 bytes and not 8" }

[[launch]]
kernel = "gemm"
when   = "MMA < 2"
grid   = ["ceil_div(m, BM) * ceil_div(n, BN)"]
block  = ["32 * WARPS_M * WARPS_N if MMA == 1 else 256"]
shared = "2 * STAGES * (BM * (BK + (8 if LAYOUT == 1 else 0)) + BK * (BN + (8 if LAYOUT == 1 else 0))) if MMA == 1 else 0"
args   = ["a", "b", "c", "m", "n", "k"]

[[launch]]
kernel = "gemm"
when   = "MMA == 2"
grid   = ["min(BLOCKS if BLOCKS > 0 else 2147483647, ceil_div(m, BM * CLUSTER) * ceil_div(n, BN) * CLUSTER)"]
block  = [384]
shared = "128 * STAGES * (BM + BN) + 1024"
args   = [{ tensor_map = "a", box = ["BM", 64], swizzle = 128 }, { tensor_map = "b", box = [64, 64], swizzle = 128 }, "c", "m", "n", "k"]
*/

typedef unsigned short bf16;  // its bits

// Where a tile of C begins; CLUSTER tiles below each other count as one.
__device__ __forceinline__ void place(int tile, int m, int n, int& row0, int& column0)
{
    const int down = (m + BM * CLUSTER - 1) / (BM * CLUSTER), across = (n + BN - 1) / BN;
    const int first = tile / (GROUP * across) * GROUP;
    const int height = min(GROUP, down - first);
    const int within = tile - first * across;
    row0 = (first + within % height) * BM * CLUSTER;
    column0 = within / height * BN;
}

#if MMA == 1
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
    place(blockIdx.x, m, n, row0, column0);
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
#elif MMA == 2
// Two warpgroups multiply what a third has copied. With PINGPONG each has tiles of its own.
#define WARPGROUPS 2
#define WM (PINGPONG ? BM : BM / WARPGROUPS)
#define A_BYTES (BM * BK * 2)
#define STAGE_BYTES (A_BYTES + BN * BK * 2)
#define READERS (PINGPONG ? 1 : WARPGROUPS)
#define PARTS (BN / 64)  // of a tile of B: boxes of 64 columns, as wide as the swizzle

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

__device__ __forceinline__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void init_barrier(unsigned barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void expect_bytes(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait_barrier(unsigned barrier, int parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

// Arrives at the barrier of block `rank` of the cluster. Nothing was written that others read: at the
// cluster's scope a release would wait for all earlier accesses to memory, in every step.
__device__ __forceinline__ void arrive_at(unsigned barrier, int rank)
{
#if CLUSTER == 1
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier), "r"(rank) : "memory");
#endif
}

__device__ __forceinline__ void copy_box(unsigned to, const TensorMap* map, int column, int row, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier) : "memory");
}

__device__ __forceinline__ void copy_box_to_all(unsigned to, const TensorMap* map, int column, int row, unsigned barrier)
{
    const unsigned short all = (1 << CLUSTER) - 1;
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(all) : "memory");
}

__device__ __forceinline__ void meet_cluster()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ int cluster_rank()
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A tile in shared memory, with the 128-byte swizzle; `leading` and `stride` in bytes.
__device__ __forceinline__ unsigned long long describe(unsigned address, int leading, int stride)
{
    return (unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16
         | (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int LEFT> __device__ __forceinline__ void wait_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

#define EIGHT(d, i) \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(d, i) EIGHT(d, i), EIGHT(d, i + 8), EIGHT(d, i + 16), EIGHT(d, i + 24)
#define SUMS_TO_63 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, " \
    "%43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_TO_127 SUMS_TO_63 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, " \
    "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, " \
    "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, " \
    "%123, %124, %125, %126, %127"

// D[64 x BN] (+)= A[64 x 16] B[16 x BN]. A lies along its rows and so does B, that is, transposed.
__device__ __forceinline__ void multiply(float (&d)[BN / 2], unsigned long long a, unsigned long long b, int add)
{
#if BN == 256
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" SUMS_TO_127 "}, %128, %129, add, 1, 1, 0, 1;\n}"
                 : THIRTY_TWO(d, 0), THIRTY_TWO(d, 32), THIRTY_TWO(d, 64), THIRTY_TWO(d, 96) : "l"(a), "l"(b), "r"(add));
#else
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" SUMS_TO_63 "}, %64, %65, add, 1, 1, 0, 1;\n}"
                 : THIRTY_TWO(d, 0), THIRTY_TWO(d, 32) : "l"(a), "l"(b), "r"(add));
#endif
}

// Barriers tell rounds apart by parity alone, so that a warpgroup must not wait for stages before the
// other has seen those of the round before.
__device__ __forceinline__ void await_turn(int warpgroup)
{
    if (PINGPONG)
        asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory");
}

__device__ __forceinline__ void pass_turn(int warpgroup)
{
    if (PINGPONG)
        asm volatile("bar.arrive %0, 256;" ::"r"(2 - warpgroup) : "memory");
}

// A warpgroup's sums to C: a thread holds pairs of columns 8 apart, in lines 8 apart.
__device__ __forceinline__ void store(const float (&d)[WM / 64][BN / 2], float* c, int row, int column, int m, int n)
{
    const int lane = threadIdx.x % 32;
    row += threadIdx.x / 32 % 4 * 16 + lane / 4;
    column += lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < WM / 64; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int line = row + i * 64 + h * 8;
#if WIDE
            // Of two fragments, even lanes take four columns of the first, odd ones of the second.
            const bool odd = lane % 2;
            float* to = c + (size_t)line * n + column + 6 * odd;
            const int left = line < m ? n - column - 6 * odd : 0;
#pragma unroll
            for (int j = 0; j < BN / 8; j += 2) {
                const float a0 = d[i][4 * j + 2 * h], a1 = d[i][4 * j + 2 * h + 1];
                const float b0 = d[i][4 * j + 2 * h + 4], b1 = d[i][4 * j + 2 * h + 5];
                const float x = __shfl_xor_sync(0xffffffffu, odd ? a0 : b0, 1);
                const float y = __shfl_xor_sync(0xffffffffu, odd ? a1 : b1, 1);
                if (8 * j < left)
                    *reinterpret_cast<float4*>(to + 8 * j) = odd ? make_float4(x, y, b0, b1) : make_float4(a0, a1, x, y);
            }
#else
            float* to = c + (size_t)line * n + column;
            if (line < m)
#pragma unroll
                for (int j = 0; j < BN / 8; ++j)
                    if (column + 8 * j < n)
                        *reinterpret_cast<float2*>(to + 8 * j) = make_float2(d[i][4 * j + 2 * h], d[i][4 * j + 2 * h + 1]);
#endif
        }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(128 * (WARPGROUPS + 1), 1)
gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* __restrict__ c, int m, int n, int k)
{
    extern __shared__ unsigned char raw[];
    __shared__ alignas(8) unsigned long long barriers[2 * STAGES];
    const unsigned stages = (shared_address(raw) + 1023) / 1024 * 1024;
    const unsigned full = shared_address(barriers), empty = full + 8 * STAGES;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0), thread = threadIdx.x % 128;
    const int rank = CLUSTER == 1 ? 0 : cluster_rank();
    const int depth = (k + BK - 1) / BK;
    const int tiles = (m + BM * CLUSTER - 1) / (BM * CLUSTER) * ((n + BN - 1) / BN);
    const int first = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            init_barrier(full + 8 * s, 1);
            init_barrier(empty + 8 * s, READERS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (CLUSTER > 1)
        meet_cluster();
    else
        __syncthreads();

    if (warpgroup == WARPGROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (thread == 0) {
            int step = 0;
            for (int tile = first; tile < tiles; tile += clusters) {
                int row, column;
                place(tile, m, n, row, column);
                for (int q = 0; q < depth; ++q, ++step) {
                    const int s = step % STAGES, round = step / STAGES;
                    const unsigned stage = stages + s * STAGE_BYTES, landed = full + 8 * s;
                    if (round > 0)
                        wait_barrier(empty + 8 * s, (round - 1) % 2);
                    expect_bytes(landed, STAGE_BYTES);
                    copy_box(stage, &a, q * BK, row + rank * BM, landed);
#pragma unroll
                    for (int j = 0; j < PARTS / CLUSTER; ++j) {
                        const int part = rank * (PARTS / CLUSTER) + j;
                        const unsigned to = stage + A_BYTES + part * 64 * BK * 2;
                        if (CLUSTER == 1)
                            copy_box(to, &b, column + 64 * part, q * BK, landed);
                        else
                            copy_box_to_all(to, &b, column + 64 * part, q * BK, landed);
                    }
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int own = PINGPONG ? warpgroup : 0, every = PINGPONG ? WARPGROUPS : 1;
        int step = own * depth;
        if (warpgroup == 1)
            pass_turn(warpgroup);
        for (int tile = first + own * clusters; tile < tiles; tile += every * clusters) {
            float d[WM / 64][BN / 2];
            await_turn(warpgroup);
            for (int q = 0; q < depth; ++q, ++step) {
                const int s = step % STAGES;
                const unsigned stage = stages + s * STAGE_BYTES;
                wait_barrier(full + 8 * s, step / STAGES % 2);
                const unsigned long long da = describe(stage + (PINGPONG ? 0 : warpgroup * WM * BK * 2), 16, 1024);
                const unsigned long long db = describe(stage + A_BYTES, 64 * BK * 2, 1024);
                begin_products();
#pragma unroll
                for (int r = 0; r < BK / 16; ++r)
#pragma unroll
                    for (int i = 0; i < WM / 64; ++i)
                        multiply(d[i], da + ((i * 64 * BK * 2 + r * 32) >> 4), db + (r * 2048 >> 4), q + r > 0);
                commit_products();
                if (q > 0) {
                    wait_products<1>();
                    if (thread < CLUSTER)
                        arrive_at(empty + 8 * ((step - 1) % STAGES), thread);
                }
            }
            pass_turn(warpgroup);
            wait_products<0>();
            if (thread < CLUSTER)
                arrive_at(empty + 8 * ((step - 1) % STAGES), thread);
            step += (every - 1) * depth;
            int row, column;
            place(tile, m, n, row, column);
            store(d, c, row + rank * BM + (PINGPONG ? 0 : warpgroup * WM), column, m, n);
        }
    }
    if (CLUSTER > 1)
        meet_cluster();  // nobody leaves while the other still copies to it or arrives at its barriers
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
    place(blockIdx.x, m, n, row0, column0);
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
