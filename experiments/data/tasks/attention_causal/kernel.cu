/* rooftree
where = [
    "MMA > 0 or STAGES <= 1 and FRAGS == 1 and LAYOUT + HOLD == 0",
    "MMA != 1 or STAGES in [1, 2]",
    "MMA != 2 or 2 <= STAGES and FRAGS == 1 and LAYOUT + HOLD == 0 and BKV >= 64",
    "WARPS in [8, 12] if MMA == 2 else WARPS <= 8",
    "MMA == 2 or TURNS == 0 and STAGES <= 2",
    "STAGES > 0 or BKV == 32",
    "FRAGS * BKV <= 128",
    "MMA != 2 or 16 * WARPS + 2 * STAGES * BKV <= 900",
]

[tunables]
MMA    = { values = [0, 1, 2], default = 0, methods = ["compute.tensor_cores", "compute.wgmma", "memory.tma_loads", "latency.warp_specialization"], help = "0: a thread per query, in fp32; 1: tensor cores by mma.sync, 16 * FRAGS queries per warp; 2: by wgmma, 16 queries per warp, and a warpgroup that has tiles copied by TMA" }
WARPS  = { values = [2, 4, 8, 12], default = 4, methods = ["latency.block_size", "memory.shared_tiling"], help = "warps that compute per block; they share the keys and values" }
FRAGS  = { values = [1, 2], default = 1, methods = ["compute.register_tiling", "memory.register_reuse"], help = "with mma.sync: sets of 16 queries per warp" }
BKV    = { values = [32, 64, 128], default = 32, methods = ["memory.shared_tiling", "latency.fewer_barriers"], help = "keys and values that are staged at a time" }
STAGES = { values = [0, 1, 2, 3], default = 0, methods = ["memory.shared_tiling", "latency.double_buffering", "memory.async_copy", "latency.mbarrier_pipeline"], help = "tiles of keys and values in shared memory, filled by cp.async, with wgmma by TMA; 0: none, they are read from device memory" }
LAYOUT = { values = [0, 1, 2], default = 0, methods = ["memory.shared_padding"], help = "of the tiles for mma.sync; 0: plain, 1: rows padded by 16 bytes, 2: XOR swizzle" }
HOLD   = { values = [0, 1], default = 0, methods = ["memory.register_reuse"], help = "with mma.sync; 1: the queries stay in registers; 0: they are read from shared memory for each tile of keys" }
FAST   = { values = [0, 1], default = 0, methods = ["compute.fast_math"], help = "1: the hardware's approximate exponential" }
TURNS  = { values = [0, 1], default = 0, methods = ["latency.warp_specialization"], help = "with wgmma; 1: warpgroups begin their products in turn, so that one's exponentials go under the others' products" }

[[launch]]
kernel = "attention"
when   = "MMA < 2"
grid   = ["ceil_div(seq, WARPS * (16 * FRAGS if MMA == 1 else 32))", "heads"]
block  = ["32 * WARPS"]
shared = "2 * (128 + (8 if LAYOUT == 1 else 0)) * (2 * STAGES * BKV + MMA * 16 * FRAGS * WARPS)"
args   = ["q", "k", "v", "o", "seq"]

[[launch]]
kernel = "attention"
when   = "MMA == 2"
grid   = ["ceil_div(seq, 16 * WARPS)", "heads"]
block  = ["32 * WARPS + 128"]
shared = "256 * (16 * WARPS + 2 * STAGES * BKV) + 1024"
args   = [
    { tensor_map = "q", box = [1, "16 * WARPS", 64], swizzle = 128 },
    { tensor_map = "k", box = [1, "BKV", 64], swizzle = 128 },
    { tensor_map = "v", box = [1, "BKV", 64], swizzle = 128 },
    "o", "seq",
]
*/

// The file also does for heads of width 64 (then 64 stands for 128 in the plan too), and without the mask.
#define D 128 // width of a head
#define CAUSAL 1 // 1: a query sees the keys up to its own place
#define THREADS (32 * WARPS)
#define PITCH (LAYOUT == 1 ? D + 8 : D)
#define SCALE (D == 64 ? 0.125f : 0.08838834765f)  // 1 / sqrt(D)
#define LOWEST (-3.402823466e+38f)

typedef unsigned short bf16;  // its bits

__device__ __forceinline__ float exp2_fast(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

// exp(SCALE * v) for v <= 0.
__device__ __forceinline__ float exp_scaled(float v)
{
#if FAST
    return exp2_fast(v * (SCALE * 1.44269504f));
#else
    return expf(v * SCALE);
#endif
}

// Rounded to nearest, as the two halves of a word.
__device__ __forceinline__ unsigned pack_bf16(float low, float high)
{
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

#if STAGES && MMA < 2
// Where a tile holds 8 values from column `c` of `line` on. ldmatrix reads eight lines at one column:
// they meet all banks only if the swizzle or the padding spreads them.
__device__ __forceinline__ int slot(int line, int c)
{
    if (LAYOUT == 2)
        c ^= line % 8 * 8;
    return line * PITCH + c;
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

// LINES rows of D values; zeros from `there` on.
template <int LINES> __device__ __forceinline__ void fill(bf16* tile, const bf16* from, int there)
{
    const unsigned base = (unsigned)__cvta_generic_to_shared(tile);
    for (int i = threadIdx.x; i < LINES * (D / 8); i += THREADS) {
        const int line = i / (D / 8), c = i % (D / 8) * 8;
        const bool is = line < there;
        copy_async_16(base + 2 * slot(line, c), is ? from + line * D + c : from, is ? 16 : 0);
    }
}
#endif

#if MMA == 1
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

// One warp's queries. Lane l has rows l / 4 and l / 4 + 8 of each 16, columns l % 4 * 2 and the next of each 8.
struct Queries {
    unsigned held[HOLD ? FRAGS : 1][D / 16][4];
    float sum[FRAGS][D / 8][4];
    float top[FRAGS][2], total[FRAGS][2];

    __device__ __forceinline__ void fetch(unsigned (&f)[4], const bf16* tile, int i, int c) const
    {
        const int lane = threadIdx.x % 32, line = (threadIdx.x / 32 * FRAGS + i) * 16 + lane % 16;
        load_matrices(f, (unsigned)__cvta_generic_to_shared(tile + slot(line, c + lane / 16 * 8)));
    }

    __device__ __forceinline__ void start(const bf16* tile)
    {
#pragma unroll
        for (int i = 0; i < FRAGS; ++i) {
#if HOLD
#pragma unroll
            for (int c = 0; c < D; c += 16)
                fetch(held[i][c / 16], tile, i, c);
#endif
#pragma unroll
            for (int j = 0; j < D / 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    sum[i][j][e] = 0.0f;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                top[i][h] = LOWEST;
                total[i][h] = 0.0f;
            }
        }
    }

    __device__ __forceinline__ void attend(const bf16* queries, const bf16* keys, const bf16* values, int there, int row, int key)
    {
        const int lane = threadIdx.x % 32;
        float s[FRAGS][BKV / 8][4] = {};
#pragma unroll
        for (int c = 0; c < D; c += 16) {
            unsigned fq[FRAGS][4];
#pragma unroll
            for (int i = 0; i < FRAGS; ++i) {
#if HOLD
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    fq[i][e] = held[i][c / 16][e];
#else
                fetch(fq[i], queries, i, c);
#endif
            }
#pragma unroll
            for (int j = 0; j < BKV; j += 16) {
                unsigned fk[4];
                const int line = j + lane % 8 + lane / 16 * 8;
                load_matrices(fk, (unsigned)__cvta_generic_to_shared(keys + slot(line, c + lane / 8 % 2 * 8)));
#pragma unroll
                for (int i = 0; i < FRAGS; ++i) {
                    multiply_fragments(s[i][j / 8], fq[i], fk);
                    multiply_fragments(s[i][j / 8 + 1], fq[i], fk + 2);
                }
            }
        }
        row += threadIdx.x / 32 * 16 * FRAGS;
        if (there < BKV || (CAUSAL && key + BKV - 1 > row))
#pragma unroll
            for (int i = 0; i < FRAGS; ++i)
#pragma unroll
                for (int j = 0; j < BKV / 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        const int at = j * 8 + lane % 4 * 2 + e % 2;
                        if (at >= there || (CAUSAL && key + at > row + i * 16 + e / 2 * 8 + lane / 4))
                            s[i][j][e] = LOWEST;
                    }
#pragma unroll
        for (int i = 0; i < FRAGS; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                soften(s[i], i, h);
#pragma unroll
        for (int j = 0; j < BKV; j += 16) {
            // What the first product leaves in a lane is what the second one wants there.
            unsigned fp[FRAGS][4];
#pragma unroll
            for (int i = 0; i < FRAGS; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    fp[i][e] = pack_bf16(s[i][j / 8 + e / 2][e % 2 * 2], s[i][j / 8 + e / 2][e % 2 * 2 + 1]);
#pragma unroll
            for (int c = 0; c < D; c += 16) {
                unsigned fv[4];
                load_matrices_turned(fv, (unsigned)__cvta_generic_to_shared(values + slot(j + lane % 16, c + lane / 16 * 8)));
#pragma unroll
                for (int i = 0; i < FRAGS; ++i) {
                    multiply_fragments(sum[i][c / 8], fp[i], fv);
                    multiply_fragments(sum[i][c / 8 + 1], fp[i], fv + 2);
                }
            }
        }
    }

    // Scores to weights against the highest score so far, by which the sums are scaled down. The first
    // tile has a key for every query, so that the highest is a score from then on.
    __device__ __forceinline__ void soften(float (&s)[BKV / 8][4], int i, int h)
    {
        float highest = top[i][h];
#pragma unroll
        for (int j = 0; j < BKV / 8; ++j)
            highest = fmaxf(highest, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
        const float shrink = exp_scaled(top[i][h] - highest);
        top[i][h] = highest;
        total[i][h] *= shrink;
#pragma unroll
        for (int c = 0; c < D / 8; ++c) {
            sum[i][c][2 * h] *= shrink;
            sum[i][c][2 * h + 1] *= shrink;
        }
#pragma unroll
        for (int j = 0; j < BKV / 8; ++j)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; ++e) {
                s[j][e] = exp_scaled(s[j][e] - highest);
                total[i][h] += s[j][e];
            }
    }

    // `o` begins at the block's first query, of which `there` exist.
    __device__ __forceinline__ void finish(bf16* o, int there)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < FRAGS; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float all = total[i][h];
                all += __shfl_xor_sync(0xffffffffu, all, 1);
                all += __shfl_xor_sync(0xffffffffu, all, 2);
                const float scale = 1.0f / all;
                const int row = (threadIdx.x / 32 * FRAGS + i) * 16 + h * 8 + lane / 4;
                if (row < there)
#pragma unroll
                    for (int c = 0; c < D / 8; ++c)
                        *reinterpret_cast<unsigned*>(o + row * D + c * 8 + lane % 4 * 2) =
                            pack_bf16(sum[i][c][2 * h] * scale, sum[i][c][2 * h + 1] * scale);
            }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
attention(const bf16* __restrict__ q, const bf16* __restrict__ k, const bf16* __restrict__ v, bf16* __restrict__ o, int seq)
{
    constexpr int BQ = 16 * FRAGS * WARPS;
    extern __shared__ uint4 raw[];
    bf16* const queries = reinterpret_cast<bf16*>(raw);
    bf16* const stages = queries + BQ * PITCH;
    const size_t head = (size_t)blockIdx.y * seq * D;
    // The longest rows begin first.
    const int first = (CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * BQ;
    const int end = CAUSAL ? min(seq, first + BQ) : seq;  // of the keys that a query here sees
    k += head;
    v += head;

    fill<BQ>(queries, q + head + (size_t)first * D, seq - first);
#if STAGES == 2
    fill<BKV>(stages, k, seq);
    fill<BKV>(stages + BKV * PITCH, v, seq);
#endif
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    Queries mine;
    mine.start(queries);
#if STAGES == 1
    for (int key = 0; key < end; key += BKV) {
        __syncthreads();
        fill<BKV>(stages, k + (size_t)key * D, seq - key);
        fill<BKV>(stages + BKV * PITCH, v + (size_t)key * D, seq - key);
        commit_copies();
        wait_copies<0>();
        __syncthreads();
        mine.attend(queries, stages, stages + BKV * PITCH, seq - key, first, key);
    }
#else
    bf16* now = stages;
    bf16* other = stages + 2 * BKV * PITCH;
    for (int key = 0; key < end; key += BKV) {
        wait_copies<0>();
        // All copies of this tile have landed, and nobody reads the other one any more.
        __syncthreads();
        if (key + BKV < end) {
            fill<BKV>(other, k + (size_t)(key + BKV) * D, seq - key - BKV);
            fill<BKV>(other + BKV * PITCH, v + (size_t)(key + BKV) * D, seq - key - BKV);
        }
        commit_copies();
        mine.attend(queries, now, now + BKV * PITCH, seq - key, first, key);
        bf16* const swap = now;
        now = other;
        other = swap;
    }
#endif
    mine.finish(o + head + (size_t)first * D, seq - first);
}
#elif MMA == 2
// Each computing warpgroup has 64 queries. While its products run it weighs the scores of the tile
// before: S = Q K' of one tile and O += P V of the last are under way together.
#define GROUPS (WARPS / 4)
#define BQ (64 * GROUPS)
#define HALVES (D / 64)  // of a row: boxes are 64 values wide, as the swizzle is
#define Q_BYTES (BQ * D * 2)
#define TILE_BYTES (BKV * D * 2)

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

__device__ __forceinline__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void wait_barrier(unsigned barrier, int parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

// LINES rows of a head from `line` on, in boxes below each other.
template <int LINES>
__device__ __forceinline__ void copy_rows(unsigned to, const TensorMap* map, int line, int head, unsigned barrier)
{
    expect_bytes(barrier, LINES * D * 2);
#pragma unroll
    for (int h = 0; h < HALVES; ++h)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                     ::"r"(to + h * LINES * 128), "l"(map), "r"(64 * h), "r"(line), "r"(head), "r"(barrier) : "memory");
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

// Waits until all but LEFT groups are done; `d` is not touched before.
template <int LEFT, int N> __device__ __forceinline__ void wait_products(float (&d)[N])
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
#pragma unroll
    for (int i = 0; i < N; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

#define EIGHT(d, i) \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define THIRTY_TWO(d, i) EIGHT(d, i), EIGHT(d, i + 8), EIGHT(d, i + 16), EIGHT(d, i + 24)
#define SUMS_TO_31 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_TO_63 SUMS_TO_31 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
    "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// D[64 x N] (+)= A[64 x 16] B[16 x N], both in shared memory and along k.
__device__ __forceinline__ void multiply(float (&d)[32], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" SUMS_TO_31 "}, %32, %33, add, 1, 1, 0, 0;\n}"
                 : THIRTY_TWO(d, 0) : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply(float (&d)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" SUMS_TO_63 "}, %64, %65, add, 1, 1, 0, 0;\n}"
                 : THIRTY_TWO(d, 0), THIRTY_TWO(d, 32) : "l"(a), "l"(b), "r"(add));
}

// D[64 x N] += A[64 x 16] B[16 x N], A in registers, B along its rows.
__device__ __forceinline__ void multiply_held(float (&d)[32], const unsigned* a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" SUMS_TO_31 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : THIRTY_TWO(d, 0) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ void multiply_held(float (&d)[64], const unsigned* a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" SUMS_TO_63 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : THIRTY_TWO(d, 0), THIRTY_TWO(d, 32) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Enqueues S = Q K'.
__device__ __forceinline__ void score(float (&s)[BKV / 2], unsigned queries, unsigned keys)
{
#pragma unroll
    for (int r = 0; r < D / 16; ++r)
        multiply(s, describe(queries + r / 4 * BQ * 128 + r % 4 * 32, 16, 1024),
                 describe(keys + r / 4 * BKV * 128 + r % 4 * 32, 16, 1024), r > 0);
    commit_products();
}

// Enqueues O += P V.
__device__ __forceinline__ void gather(float (&sum)[D / 2], const unsigned (&p)[BKV / 4], unsigned values)
{
#pragma unroll
    for (int r = 0; r < BKV / 16; ++r)
        multiply_held(sum, p + 4 * r, describe(values + r * 2048, BKV * 128, 1024));
    commit_products();
}

// Scores to weights against the highest score so far; `shrink` is what earlier sums shrink by. A thread
// holds rows lane / 4 and lane / 4 + 8 from its warp's `row` on, and of each 8 columns the pair lane % 4.
struct Softmax {
    float top[2], total[2], shrink[2];

    __device__ __forceinline__ void weigh(float (&s)[BKV / 2], int there, int row, int key)
    {
        const int lane = threadIdx.x % 32;
        if (there < BKV || (CAUSAL && key + BKV - 1 > row))
#pragma unroll
            for (int i = 0; i < BKV / 2; ++i) {
                const int at = i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (at >= there || (CAUSAL && key + at > row + lane / 4 + i / 2 % 2 * 8))
                    s[i] = LOWEST;
            }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float highest = top[h];
#pragma unroll
            for (int j = 2 * h; j < BKV / 2; j += 4)
                highest = fmaxf(highest, fmaxf(s[j], s[j + 1]));
            highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
            highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
            shrink[h] = exp_scaled(top[h] - highest);
            top[h] = highest;
            total[h] *= shrink[h];
            const float offset = highest * (SCALE * 1.44269504f);
#pragma unroll
            for (int j = 2 * h; j < BKV / 2; j += 4)
#pragma unroll
                for (int e = j; e < j + 2; ++e) {
                    // One multiply-add and the hardware's exponential, where that is good enough.
                    s[e] = FAST ? exp2_fast(fmaf(s[e], SCALE * 1.44269504f, -offset)) : exp_scaled(s[e] - highest);
                    total[h] += s[e];
                }
        }
    }
};

// A thread's scores as the left operand of the second product: both lie alike.
__device__ __forceinline__ void pack(const float (&s)[BKV / 2], unsigned (&p)[BKV / 4])
{
#pragma unroll
    for (int i = 0; i < BKV / 4; ++i)
        p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
}

__device__ __forceinline__ void await_turn(int group)
{
    if (TURNS)
        asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory");
}

__device__ __forceinline__ void pass_turn(int group)
{
    if (TURNS)
        asm volatile("bar.arrive %0, 256;" ::"r"(1 + (group + 1) % GROUPS) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS + 128, 1)
attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v,
          bf16* __restrict__ o, int seq)
{
    extern __shared__ unsigned char raw[];
    __shared__ alignas(8) unsigned long long barriers[1 + 4 * STAGES];
    const unsigned queries = (shared_address(raw) + 1023) / 1024 * 1024;
    const unsigned keys = queries + Q_BYTES, values = keys + STAGES * TILE_BYTES;
    const unsigned full_q = shared_address(barriers), full_k = full_q + 8, full_v = full_k + 8 * STAGES;
    const unsigned empty_k = full_v + 8 * STAGES, empty_v = empty_k + 8 * STAGES;
    const int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0), thread = threadIdx.x % 128;
    // The longest rows begin first.
    const int head = blockIdx.y, first = (CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * BQ;
    const int tiles = ((CAUSAL ? min(seq, first + BQ) : seq) + BKV - 1) / BKV;
    if (threadIdx.x == 0) {
        init_barrier(full_q, 1);
        for (int s = 0; s < STAGES; ++s) {
            init_barrier(full_k + 8 * s, 1);
            init_barrier(full_v + 8 * s, 1);
            init_barrier(empty_k + 8 * s, GROUPS);
            init_barrier(empty_v + 8 * s, GROUPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(GROUPS == 3 ? 32 : 40));
        if (thread == 0) {
            copy_rows<BQ>(queries, &q, first, head, full_q);
            for (int t = 0; t < tiles; ++t) {
                const int s = t % STAGES, round = t / STAGES;
                if (round > 0)
                    wait_barrier(empty_k + 8 * s, (round - 1) % 2);
                copy_rows<BKV>(keys + s * TILE_BYTES, &k, t * BKV, head, full_k + 8 * s);
                if (round > 0)
                    wait_barrier(empty_v + 8 * s, (round - 1) % 2);
                copy_rows<BKV>(values + s * TILE_BYTES, &v, t * BKV, head, full_v + 8 * s);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GROUPS == 3 ? 160 : 232));
        const unsigned mine = queries + group * 64 * 128;
        const int own = first + 64 * group + thread / 32 * 16;  // the warp's first row
        Softmax softmax = {{LOWEST, LOWEST}, {0.0f, 0.0f}};
        float s[BKV / 2], sum[D / 2];
        unsigned p[BKV / 4];
#pragma unroll
        for (int i = 0; i < D / 2; ++i)
            sum[i] = 0.0f;
        if (group == GROUPS - 1)
            pass_turn(group);
        wait_barrier(full_q, 0);
        wait_barrier(full_k, 0);
        await_turn(group);
        begin_products();
        score(s, mine, keys);
        pass_turn(group);
        wait_products<0>(s);
        if (thread == 0)
            arrive(empty_k);
        softmax.weigh(s, seq, own, 0);
        pack(s, p);
#pragma unroll 1
        for (int t = 1; t < tiles; ++t) {
            const int now = t % STAGES, before = (t - 1) % STAGES;
            wait_barrier(full_k + 8 * now, t / STAGES % 2);
            wait_barrier(full_v + 8 * before, (t - 1) / STAGES % 2);
            await_turn(group);
            begin_products();
            score(s, mine, keys + now * TILE_BYTES);
            gather(sum, p, values + before * TILE_BYTES);
            pass_turn(group);
            wait_products<1>(s);
            if (thread == 0)
                arrive(empty_k + 8 * now);
            softmax.weigh(s, seq - t * BKV, own, t * BKV);
            wait_products<0>(sum);
            if (thread == 0)
                arrive(empty_v + 8 * before);
#pragma unroll
            for (int i = 0; i < D / 2; ++i)
                sum[i] *= softmax.shrink[i / 2 % 2];
            pack(s, p);
        }
        const int last = (tiles - 1) % STAGES;
        wait_barrier(full_v + 8 * last, (tiles - 1) / STAGES % 2);
        await_turn(group);
        begin_products();
        gather(sum, p, values + last * TILE_BYTES);
        pass_turn(group);
        wait_products<0>(sum);

        const int lane = thread % 32;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float all = softmax.total[h];
            all += __shfl_xor_sync(0xffffffffu, all, 1);
            all += __shfl_xor_sync(0xffffffffu, all, 2);
            const float scale = 1.0f / all;
            const int row = own + lane / 4 + 8 * h;
            bf16* const to = o + ((size_t)head * seq + row) * D + lane % 4 * 2;
            if (row < seq)
#pragma unroll
                for (int j = 0; j < D / 8; ++j)
                    *reinterpret_cast<unsigned*>(to + 8 * j) = pack_bf16(sum[4 * j + 2 * h] * scale, sum[4 * j + 2 * h + 1] * scale);
        }
    }
}
#else
// Eight values from p on, as fp32.
__device__ __forceinline__ void take(float (&to)[8], const bf16* p)
{
    const uint4 words = *reinterpret_cast<const uint4*>(p);
    const unsigned w[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        to[2 * i] = __uint_as_float(w[i] << 16);
        to[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention(const bf16* __restrict__ q, const bf16* __restrict__ k, const bf16* __restrict__ v, bf16* __restrict__ o, int seq)
{
    const size_t head = (size_t)blockIdx.y * seq * D;
    const int row = blockIdx.x * THREADS + threadIdx.x;
    k += head;
    v += head;
    float mine[D], sum[D], part[8];
    // A query past the end computes the last one again, so that all threads reach the barriers.
#pragma unroll
    for (int c = 0; c < D; c += 8) {
        take(part, q + head + (size_t)min(row, seq - 1) * D + c);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            mine[c + i] = part[i];
            sum[c + i] = 0.0f;
        }
    }
    float top = LOWEST, total = 0.0f;
    const int end = CAUSAL ? min(seq, (int)(blockIdx.x + 1) * THREADS) : seq;
    for (int first = 0; first < end; first += BKV) {
        const int there = min(BKV, seq - first);
#if STAGES
        extern __shared__ uint4 raw[];
        bf16* const keys = reinterpret_cast<bf16*>(raw);
        bf16* const values = keys + BKV * PITCH;
        __syncthreads();
        fill<BKV>(keys, k + (size_t)first * D, there);
        fill<BKV>(values, v + (size_t)first * D, there);
        commit_copies();
        wait_copies<0>();
        __syncthreads();
#else
        const bf16* const keys = k + (size_t)first * D;
        const bf16* const values = v + (size_t)first * D;
#endif
        for (int j = 0; j < (CAUSAL ? min(there, row - first + 1) : there); ++j) {
            float score = 0.0f;
#pragma unroll
            for (int c = 0; c < D; c += 8) {
                take(part, keys + j * D + c);
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    score = fmaf(mine[c + i], part[i], score);
            }
            if (score > top) {
                const float shrink = exp_scaled(top - score);
                top = score;
                total *= shrink;
#pragma unroll
                for (int c = 0; c < D; ++c)
                    sum[c] *= shrink;
            }
            const float weight = exp_scaled(score - top);
            total += weight;
#pragma unroll
            for (int c = 0; c < D; c += 8) {
                take(part, values + j * D + c);
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    sum[c + i] = fmaf(weight, part[i], sum[c + i]);
            }
        }
    }
    if (row >= seq)
        return;
    const float scale = 1.0f / total;
    unsigned* const out = reinterpret_cast<unsigned*>(o + head + (size_t)row * D);
#pragma unroll
    for (int c = 0; c < D; c += 2)
        out[c / 2] = pack_bf16(sum[c] * scale, sum[c + 1] * scale);
}
#endif
