/* rooftree
where = [
    "MMA == 0 and STAGES <= 1 and FRAGS == 1 and LAYOUT + HOLD == 0 or MMA == 1 and STAGES >= 1",
    "STAGES > 0 or BKV == 32",
    "FRAGS * BKV <= 128",
]

[tunables]
MMA    = { values = [0, 1], default = 0, methods = ["compute.tensor_cores"], help = "0: a thread per query, in fp32; 1: tensor cores, 16 * FRAGS queries per warp" }
WARPS  = { values = [2, 4, 8], default = 4, methods = ["latency.block_size", "memory.shared_tiling"], help = "warps per block; they share the keys and values" }
FRAGS  = { values = [1, 2], default = 1, methods = ["compute.register_tiling", "memory.register_reuse"], help = "sets of 16 queries per warp" }
BKV    = { values = [32, 64, 128], default = 32, methods = ["memory.shared_tiling", "latency.fewer_barriers"], help = "keys and values that are staged at a time" }
STAGES = { values = [0, 1, 2], default = 0, methods = ["memory.shared_tiling", "latency.double_buffering", "memory.async_copy"], help = "tiles of keys and values in shared memory, filled by cp.async; 0: none, they are read from device memory" }
LAYOUT = { values = [0, 1, 2], default = 0, methods = ["memory.shared_padding"], help = "of the tiles; 0: plain, 1: rows padded by 16 bytes, 2: XOR swizzle" }
HOLD   = { values = [0, 1], default = 0, methods = ["memory.register_reuse"], help = "1: the queries stay in registers; 0: they are read from shared memory for each tile of keys" }
FAST   = { values = [0, 1], default = 0, methods = ["compute.fast_math"], help = "1: the hardware's approximate exponential" }

[[launch]]
kernel = "attention"
grid   = ["ceil_div(seq, WARPS * (16 * FRAGS if MMA == 1 else 32))", "heads"]
block  = ["32 * WARPS"]
shared = "2 * (64 + (8 if LAYOUT == 1 else 0)) * (2 * STAGES * BKV + MMA * 16 * FRAGS * WARPS)"
args   = ["q", "k", "v", "o", "seq"]
*/

#define D 64  // width of a head
#define THREADS (32 * WARPS)
#define PITCH (LAYOUT == 1 ? D + 8 : D)
#define SCALE 0.125f  // 1 / sqrt(D)
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

#if STAGES
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

#if MMA
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

    __device__ __forceinline__ void attend(const bf16* queries, const bf16* keys, const bf16* values, int there)
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
        if (there < BKV)
#pragma unroll
            for (int i = 0; i < FRAGS; ++i)
#pragma unroll
                for (int j = 0; j < BKV / 8; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        if (j * 8 + lane % 4 * 2 + e % 2 >= there)
                            s[i][j][e] = LOWEST;
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

    // Scores to weights against the highest score so far, by which the sums are scaled down.
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
    const int first = blockIdx.x * BQ;
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
    for (int key = 0; key < seq; key += BKV) {
        __syncthreads();
        fill<BKV>(stages, k + (size_t)key * D, seq - key);
        fill<BKV>(stages + BKV * PITCH, v + (size_t)key * D, seq - key);
        commit_copies();
        wait_copies<0>();
        __syncthreads();
        mine.attend(queries, stages, stages + BKV * PITCH, seq - key);
    }
#else
    bf16* now = stages;
    bf16* other = stages + 2 * BKV * PITCH;
    for (int key = 0; key < seq; key += BKV) {
        wait_copies<0>();
        // All copies of this tile have landed, and nobody reads the other one any more.
        __syncthreads();
        if (key + BKV < seq) {
            fill<BKV>(other, k + (size_t)(key + BKV) * D, seq - key - BKV);
            fill<BKV>(other + BKV * PITCH, v + (size_t)(key + BKV) * D, seq - key - BKV);
        }
        commit_copies();
        mine.attend(queries, now, now + BKV * PITCH, seq - key);
        bf16* const swap = now;
        now = other;
        other = swap;
    }
#endif
    mine.finish(o + head + (size_t)first * D, seq - first);
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
    for (int first = 0; first < seq; first += BKV) {
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
        for (int j = 0; j < there; ++j) {
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
