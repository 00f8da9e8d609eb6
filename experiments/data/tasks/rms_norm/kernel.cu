/* rooftree
where = [
    "cols % VEC == 0",
    "LANES <= BLOCK",
    "LANES > 1 or (SHUFFLE == 0 and HINT == 0 and STAGE == 0)",
    "HINT == 0 or VEC == 8",
    "KEEP == 0 or (KEEP * LANES == 4096 and VEC > 1)",
    "STAGE == 0 or (KEEP == 0 and 2 * cols * (BLOCK // LANES) <= 200000)",
    "ROWS == 1 or LANES > 1",
    "WEIGHTS == 0 or (KEEP > 0 and KEEP <= 32 and ROWS > 1)",
    "AHEAD == 0 or (KEEP > 0 and KEEP <= 32 and ROWS > 1)",
]

[tunables]
BLOCK   = { values = [128, 256, 512], default = 128, methods = ["latency.block_size"], help = "threads per block" }
LANES   = { values = [1, 32, 128, 256, 512], default = 1, methods = ["memory.coalesced_access", "latency.work_per_thread"], help = "threads that share one row" }
VEC     = { values = [1, 2, 8], default = 1, methods = ["memory.vectorized_loads"], help = "bf16 values per load and store" }
KEEP    = { values = [0, 8, 16, 32, 128], default = 0, methods = ["memory.register_reuse"], help = "values of its row a thread keeps in registers for the second pass" }
STAGE   = { values = [0, 1], default = 0, methods = ["memory.shared_tiling"], help = "1: the row waits for the second pass in shared memory" }
ROWS    = { values = [1, 8], default = 1, methods = ["latency.work_per_thread"], help = "rows that the same threads work on, one after another" }
WEIGHTS = { values = [0, 1], default = 0, methods = ["memory.register_reuse"], help = "1: the weights stay in registers from row to row" }
AHEAD   = { values = [0, 1], default = 0, methods = ["latency.double_buffering"], help = "1: the next row is on its way while this one is reduced" }
SHUFFLE = { values = [0, 1], default = 0, methods = ["compute.warp_primitives"], help = "0: reduce by a tree in shared memory; 1: by warp shuffles" }
HINT    = { values = [0, 1], default = 0, methods = ["memory.cache_hints"], help = "1: streaming (evict-first) loads and stores of the rows" }

[[launch]]
kernel = "rms_norm"
grid   = ["ceil_div(rows, BLOCK // LANES * ROWS)"]
block  = ["BLOCK"]
shared = "4 * BLOCK + STAGE * 2 * (cols + 8) * (BLOCK // LANES)"
args   = ["x", "weight", "y", "rows", "cols"]
*/

#define GROUPS (BLOCK / LANES)
#define HELD (KEEP / VEC)

typedef unsigned short bf16;  // its bits

struct alignas(2 * VEC) Pack {
    bf16 v[VEC];
};

__device__ __forceinline__ Pack load(const bf16* p)
{
#if HINT
    const uint4 t = __ldcs(reinterpret_cast<const uint4*>(p));
    return *reinterpret_cast<const Pack*>(&t);
#else
    return *reinterpret_cast<const Pack*>(p);
#endif
}

__device__ __forceinline__ void store(bf16* p, const Pack& r)
{
#if HINT
    __stcs(reinterpret_cast<uint4*>(p), *reinterpret_cast<const uint4*>(&r));
#else
    *reinterpret_cast<Pack*>(p) = r;
#endif
}

__device__ __forceinline__ float widen(bf16 v)
{
    return __uint_as_float((unsigned)v << 16);
}

// Rounded to nearest, as the two halves of a word.
__device__ __forceinline__ unsigned pack_bf16(float low, float high)
{
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

__device__ __forceinline__ float squares(const Pack& p)
{
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < VEC; ++i)
        sum = fmaf(widen(p.v[i]), widen(p.v[i]), sum);
    return sum;
}

__device__ __forceinline__ Pack scaled(const Pack& p, const Pack& w, float scale)
{
    Pack r;
    if (VEC == 1) {
        r.v[0] = (bf16)pack_bf16(widen(p.v[0]) * scale * widen(w.v[0]), 0.0f);
    } else {
#pragma unroll
        for (int i = 0; i + 1 < VEC; i += 2) {
            const unsigned both = pack_bf16(widen(p.v[i]) * scale * widen(w.v[i]),
                                            widen(p.v[i + 1]) * scale * widen(w.v[i + 1]));
            r.v[i] = (bf16)both;
            r.v[i + 1] = (bf16)(both >> 16);
        }
    }
    return r;
}

// Sum over the LANES threads of a row; every one of them gets it. All threads of the block call this.
__device__ __forceinline__ float reduce(float v, float* scratch)
{
#if LANES == 1
    return v;
#elif SHUFFLE
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
#if LANES > 32
    const int warp = threadIdx.x / 32;
    __syncthreads();  // the previous row's sums may still be being read
    if (threadIdx.x % 32 == 0)
        scratch[warp] = v;
    __syncthreads();
    const float* mine = scratch + warp / (LANES / 32) * (LANES / 32);
    v = mine[0];
#pragma unroll
    for (int w = 1; w < LANES / 32; ++w)
        v += mine[w];
#endif
    return v;
#else
    __syncthreads();
    scratch[threadIdx.x] = v;
    for (int d = LANES / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (threadIdx.x % LANES < d)
            scratch[threadIdx.x] += scratch[threadIdx.x + d];
    }
    __syncthreads();
    return scratch[threadIdx.x / LANES * LANES];
#endif
}

#if KEEP > 0
// A part of a row or of the weights, in the order of this thread's packs.
struct Part {
    Pack p[HELD];

    __device__ __forceinline__ void fetch(const bf16* from, int lane, int cols)
    {
#pragma unroll
        for (int h = 0; h < HELD; ++h) {
            const int c = (h * LANES + lane) * VEC;
            if (c < cols)
                p[h] = load(from + c);
            else
#pragma unroll
                for (int i = 0; i < VEC; ++i)
                    p[h].v[i] = 0;
        }
    }
};
#endif

extern "C" __global__ void __launch_bounds__(BLOCK)
rms_norm(const bf16* __restrict__ x, const bf16* __restrict__ weight, bf16* __restrict__ y, int rows, int cols)
{
    extern __shared__ uint4 raw[];
    const int lane = threadIdx.x % LANES;
    const int group = threadIdx.x / LANES;
    const int row0 = blockIdx.x * (GROUPS * ROWS) + group;
    const int step = LANES * VEC;
    // Packs past the held ones are read again in the second pass.
    const int rest = (HELD * LANES + lane) * VEC;
#if STAGE
    bf16* const staged = reinterpret_cast<bf16*>(raw) + group * ((cols + 7) / 8 * 8);
    float* const scratch = reinterpret_cast<float*>(raw) + GROUPS * ((cols + 7) / 8 * 4);
#else
    float* const scratch = reinterpret_cast<float*>(raw);
#endif

#if WEIGHTS
    Part held_weight;
    held_weight.fetch(weight, lane, cols);
#endif
#if AHEAD
    Part next;
    next.fetch(x + (size_t)min(row0, rows - 1) * cols, lane, cols);
#endif

#pragma unroll 1
    for (int turn = 0; turn < ROWS; ++turn) {
        const int row = row0 + turn * GROUPS;
        const bool live = row < rows;
        // A row past the end computes the last one again, so that all threads reach the barriers.
        const size_t first = (size_t)(live ? row : rows - 1) * cols;
        const bf16* in = x + first;
        bf16* out = y + first;

        float sum = 0.0f;
#if KEEP > 0
        Part part;
#if AHEAD
        part = next;
        if (turn + 1 < ROWS)
            next.fetch(x + (size_t)min(row + GROUPS, rows - 1) * cols, lane, cols);
#else
        part.fetch(in, lane, cols);
#endif
#pragma unroll
        for (int h = 0; h < HELD; ++h)
            sum += squares(part.p[h]);
#endif
#pragma unroll 4
        for (int c = rest; c < cols; c += step) {
            const Pack p = load(in + c);
            sum += squares(p);
#if STAGE
            *reinterpret_cast<Pack*>(staged + c) = p;
#endif
        }
        const float scale = rsqrtf(reduce(sum, scratch) / cols + 1e-5f);

        if (!live)
            continue;
#if KEEP > 0
#pragma unroll
        for (int h = 0; h < HELD; ++h) {
            const int c = (h * LANES + lane) * VEC;
            if (c < cols) {
#if WEIGHTS
                store(out + c, scaled(part.p[h], held_weight.p[h], scale));
#else
                store(out + c, scaled(part.p[h], *reinterpret_cast<const Pack*>(weight + c), scale));
#endif
            }
        }
#endif
#pragma unroll 4
        for (int c = rest; c < cols; c += step) {
#if STAGE
            const Pack p = *reinterpret_cast<const Pack*>(staged + c);
#else
            const Pack p = load(in + c);
#endif
            store(out + c, scaled(p, *reinterpret_cast<const Pack*>(weight + c), scale));
        }
    }
}
