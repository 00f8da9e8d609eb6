/* rooftree
where = [
    "cols % VEC == 0",
    "LANES <= BLOCK",
    "LANES > 1 or (SHUFFLE == 0 and HINT == 0)",
    "HINT == 0 or VEC == 4",
    "KEEP == 0 or (1024 <= KEEP * LANES and KEEP * LANES <= 4096)",
    "ONLINE == 0 or KEEP == 0",
    "BOUNDS == 0 or KEEP * BLOCK >= 32768",
]

[tunables]
BLOCK   = { values = [128, 256, 1024], default = 128, methods = ["latency.block_size"], help = "threads per block" }
LANES   = { values = [1, 32, 128, 256, 1024], default = 1, methods = ["memory.coalesced_access", "latency.work_per_thread"], help = "threads that share one row; a block works on BLOCK / LANES rows" }
VEC     = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"], help = "floats per load and store" }
KEEP    = { values = [0, 4, 16, 32, 128], default = 0, methods = ["memory.register_reuse"], help = "floats of its row a thread keeps in registers between the passes; the others are read again" }
ONLINE  = { values = [0, 1], default = 0, methods = ["memory.register_reuse"], help = "1: maximum and sum in one pass, rescaling the sum as the maximum grows" }
SHUFFLE = { values = [0, 1], default = 0, methods = ["compute.warp_primitives"], help = "0: reduce by a tree in shared memory; 1: by warp shuffles" }
FAST    = { values = [0, 1], default = 0, methods = ["compute.fast_math"], help = "1: the hardware's approximate exponential" }
HINT    = { values = [0, 1], default = 0, methods = ["memory.cache_hints"], help = "1: streaming (evict-first) loads and stores" }
BOUNDS  = { values = [0, 1], default = 0, methods = ["latency.launch_bounds"], help = "1: declare the block size, so that the registers fit it" }

[[launch]]
kernel = "row_softmax"
grid   = ["ceil_div(rows, BLOCK // LANES)"]
block  = ["BLOCK"]
shared = "4 * BLOCK if SHUFFLE == 0 else BLOCK // 8"
args   = ["x", "y", "rows", "cols"]
*/

#define ROWS (BLOCK / LANES)
#define HELD (KEEP / VEC)
#define LOWEST (-3.402823466e+38f)
// The loops over what is not held: unrolled only where they do all the work, since they cost the held part registers.
constexpr int REST = KEEP > 0 ? 1 : 4;

static_assert(BLOCK % LANES == 0, "a row belongs to one block");
static_assert(KEEP % VEC == 0, "whole vectors are kept");

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

// exp(v - m). Subtract first: as fma(v, log2e, -m * log2e) it would not be exactly 1 at v == m, and the
// online sum multiplies by that at every step.
__device__ __forceinline__ float exp_above(float v, float m)
{
#if FAST
    const float log2e = 1.4426950408889634f;
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"((v - m) * log2e));
    return r;
#else
    return expf(v - m);
#endif
}

template <bool MAX> __device__ __forceinline__ float join(float a, float b)
{
    return MAX ? fmaxf(a, b) : a + b;
}

// Over the LANES threads of a row; every one of them gets the result. All threads of the block call it.
template <bool MAX> __device__ __forceinline__ float reduce(float v, float* scratch)
{
#if LANES == 1
    return v;
#elif SHUFFLE
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        v = join<MAX>(v, __shfl_xor_sync(0xffffffffu, v, d));
#if LANES > 32
    const int warp = threadIdx.x / 32;
    __syncthreads();  // the previous reduction may still be being read
    if (threadIdx.x % 32 == 0)
        scratch[warp] = v;
    __syncthreads();
    const float* mine = scratch + warp / (LANES / 32) * (LANES / 32);
    v = mine[0];
#pragma unroll
    for (int w = 1; w < LANES / 32; ++w)
        v = join<MAX>(v, mine[w]);
#endif
    return v;
#else
    __syncthreads();
    scratch[threadIdx.x] = v;
    for (int d = LANES / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (threadIdx.x % LANES < d)
            scratch[threadIdx.x] = join<MAX>(scratch[threadIdx.x], scratch[threadIdx.x + d]);
    }
    __syncthreads();
    return scratch[threadIdx.x / LANES * LANES];
#endif
}

extern "C" __global__ void
#if BOUNDS
__launch_bounds__(BLOCK)
#endif
row_softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols)
{
    extern __shared__ float scratch[];
    const int lane = threadIdx.x % LANES;
    const int row = blockIdx.x * ROWS + threadIdx.x / LANES;
    const bool live = row < rows;
    // A row past the end computes the last one again, so that all threads reach the barriers.
    const size_t first = (size_t)(live ? row : rows - 1) * cols;
    const float* in = x + first;
    float* out = y + first;
    const int begin = (HELD * LANES + lane) * VEC;
    const int step = LANES * VEC;

    float top = LOWEST;
    float sum = 0.0f;

#if HELD > 0
    Pack held[HELD];
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        const int c = (h * LANES + lane) * VEC;
        if (c < cols) {
            held[h] = load(in + c);
        } else {
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                held[h].v[i] = LOWEST;
        }
    }
#pragma unroll
    for (int h = 0; h < HELD; ++h)
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            top = fmaxf(top, held[h].v[i]);
#endif

#if ONLINE
#pragma unroll REST
    for (int c = begin; c < cols; c += step) {
        const Pack p = load(in + c);
        float higher = top;
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            higher = fmaxf(higher, p.v[i]);
        sum *= exp_above(top, higher);
        top = higher;
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            sum += exp_above(p.v[i], top);
    }
    const float mine = top;
    top = reduce<true>(top, scratch);
    sum *= exp_above(mine, top);
#else
#pragma unroll REST
    for (int c = begin; c < cols; c += step) {
        const Pack p = load(in + c);
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            top = fmaxf(top, p.v[i]);
    }
    top = reduce<true>(top, scratch);
#if HELD > 0
#pragma unroll
    for (int h = 0; h < HELD; ++h)
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
            held[h].v[i] = exp_above(held[h].v[i], top);
            sum += held[h].v[i];
        }
#endif
#pragma unroll REST
    for (int c = begin; c < cols; c += step) {
        const Pack p = load(in + c);
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            sum += exp_above(p.v[i], top);
    }
#endif
    const float scale = 1.0f / reduce<false>(sum, scratch);

    if (!live)
        return;
#if HELD > 0
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        const int c = (h * LANES + lane) * VEC;
        if (c < cols) {
#pragma unroll
            for (int i = 0; i < VEC; ++i)
                held[h].v[i] *= scale;
            store(out + c, held[h]);
        }
    }
#endif
#pragma unroll REST
    for (int c = begin; c < cols; c += step) {
        Pack p = load(in + c);
#pragma unroll
        for (int i = 0; i < VEC; ++i)
            p.v[i] = exp_above(p.v[i], top) * scale;
        store(out + c, p);
    }
}
