/* rooftree
where = [
    "cols % VEC == 0",
    "ITEMS > 1 or STRIDED == 0",
    "VEC * ITEMS <= 16",
    "HINT == 0 or VEC == 4",
    "ROWS == 0 or BLOCK * VEC * ITEMS <= 4096",
]

[tunables]
BLOCK   = { values = [128, 256, 1024], default = 256, methods = ["latency.block_size"], help = "threads per block" }
VEC     = { values = [1, 2, 4], default = 1, methods = ["memory.vectorized_loads"], help = "floats per load and store" }
ITEMS   = { values = [1, 2, 4, 8], default = 1, methods = ["latency.work_per_thread"], help = "loads that a thread has in flight at once" }
STRIDED = { values = [0, 1], default = 0, methods = ["memory.coalesced_access"], help = "0: the items of a thread are neighbours; 1: they lie a block's width apart" }
ROWS    = { values = [0, 4, 64], default = 0, methods = ["memory.register_reuse", "compute.strength_reduction"], help = "0: blocks over the flat array, the column by a division; else each goes down so many rows with its part of the bias in registers" }
FAST    = { values = [0, 1], default = 0, methods = ["compute.fast_math"], help = "1: the error function by a polynomial and the hardware's approximate exponential" }
HINT    = { values = [0, 1], default = 0, methods = ["memory.cache_hints"], help = "1: streaming (evict-first) loads and stores" }

[[launch]]
kernel = "gelu"
grid   = ["ceil_div(rows * cols, BLOCK * VEC * ITEMS)"]
block  = ["BLOCK"]
args   = ["x", "bias", "y", "rows", "cols"]
when   = "ROWS == 0"

[[launch]]
kernel = "gelu"
grid   = ["ceil_div(cols, BLOCK * VEC * ITEMS)", "ceil_div(rows, max(ROWS, 1))"]
block  = ["BLOCK"]
args   = ["x", "bias", "y", "rows", "cols"]
when   = "ROWS > 0"
*/

struct alignas(4 * VEC) Pack {
    float v[VEC];
};

__device__ __forceinline__ Pack load(const float* p)
{
#if HINT
    const float4 t = __ldcs(reinterpret_cast<const float4*>(p));
    return *reinterpret_cast<const Pack*>(&t);
#else
    return *reinterpret_cast<const Pack*>(p);
#endif
}

__device__ __forceinline__ void store(float* p, const Pack& r)
{
#if HINT
    __stcs(reinterpret_cast<float4*>(p), *reinterpret_cast<const float4*>(&r));
#else
    *reinterpret_cast<Pack*>(p) = r;
#endif
}

__device__ __forceinline__ float exp2_fast(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

__device__ __forceinline__ float gelu_of(float x)
{
#if FAST
    // Abramowitz and Stegun 7.1.26: erfc(z) = t (a1 + ... + a5 t^4) exp(-z^2) within 1.5e-7, for z >= 0.
    const float z = fabsf(x) * 0.70710678f;
    const float t = __fdividef(1.0f, fmaf(0.3275911f, z, 1.0f));
    float tail = fmaf(t, 1.061405429f, -1.453152027f);
    tail = fmaf(t, tail, 1.421413741f);
    tail = fmaf(t, tail, -0.284496736f);
    tail = fmaf(t, tail, 0.254829592f);
    tail *= 0.5f * x * t * exp2_fast(z * z * -1.44269504f);
    return x < 0.0f ? tail : x - tail;
#else
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
#endif
}

// Where item k of this thread begins, counted from where the block's items begin.
__device__ __forceinline__ int place(int k)
{
    return (STRIDED ? k * BLOCK + threadIdx.x : threadIdx.x * ITEMS + k) * VEC;
}

extern "C" __global__ void
gelu(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, int rows, int cols)
{
    Pack p[ITEMS], b[ITEMS];
    const int begin = blockIdx.x * (BLOCK * VEC * ITEMS);
#if ROWS == 0
    const int size = rows * cols;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const int i = begin + place(k);
        if (i < size) {
            p[k] = load(x + i);
            b[k] = *reinterpret_cast<const Pack*>(bias + i % cols);
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const int i = begin + place(k);
        if (i < size) {
#pragma unroll
            for (int j = 0; j < VEC; ++j)
                p[k].v[j] = gelu_of(p[k].v[j] + b[k].v[j]);
            store(y + i, p[k]);
        }
    }
#else
#pragma unroll
    for (int k = 0; k < ITEMS; ++k)
        if (begin + place(k) < cols)
            b[k] = *reinterpret_cast<const Pack*>(bias + begin + place(k));
    const int end = min(rows, (int)(blockIdx.y + 1) * ROWS);
    for (int row = blockIdx.y * ROWS; row < end; ++row) {
        const size_t first = (size_t)row * cols + begin;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k)
            if (begin + place(k) < cols)
                p[k] = load(x + first + place(k));
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            if (begin + place(k) < cols) {
#pragma unroll
                for (int j = 0; j < VEC; ++j)
                    p[k].v[j] = gelu_of(p[k].v[j] + b[k].v[j]);
                store(y + first + place(k), p[k]);
            }
        }
    }
#endif
}
