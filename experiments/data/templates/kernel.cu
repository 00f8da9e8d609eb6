/* rooftree
# The launch plan, in TOML. Combinations that make no sense are left out:
where = ["cols % VEC == 0"]

# Tunables reach the compiler as macros of the same name; the defaults are the baseline. `methods`
# names the playbook methods that moving a tunable exercises.
[tunables]
BLOCK    = { values = [64, 128, 256, 512, 1024], default = 64, methods = ["latency.block_size"], help = "threads per block" }
VEC      = { values = [1, 2, 4], default = 1, methods = ["memory.vectorized_loads"], help = "floats per load and store" }
WORK     = { values = [1, 2, 4, 8], default = 1, methods = ["latency.work_per_thread"], help = "packs of VEC floats per thread" }
COALESCE = { values = [0, 1], default = 0, methods = ["memory.coalesced_access"], help = "0: the threads of a block walk down a column; 1: along a row" }
FAST     = { values = [0, 1], default = 0, methods = ["compute.fast_math"], help = "1: the hardware's approximate exponential" }

# Launches in order: expressions over the task's shape variables and the tunables. Arguments are
# buffer names, expressions (passed as int), or another type: { value = 0.5, type = "float32" }.
[[launch]]
kernel = "bias_gelu"
grid   = ["ceil_div(cols, VEC * WORK * BLOCK) if COALESCE else ceil_div(cols, VEC * WORK)", "rows if COALESCE else ceil_div(rows, BLOCK)"]
block  = ["BLOCK"]
args   = ["x", "scale", "bias", "y", "rows", "cols"]
*/

// One aligned load or store of VEC floats.
struct alignas(4 * VEC) Pack {
    float v[VEC];
};

__device__ __forceinline__ Pack load(const float* p) { return *reinterpret_cast<const Pack*>(p); }

__device__ __forceinline__ float gelu(float z)
{
    const float u = 0.7978845608f * (z + 0.044715f * z * z * z);
#if FAST
    return z - __fdividef(z, __expf(2.0f * fminf(u, 40.0f)) + 1.0f);
#else
    return 0.5f * z * (1.0f + tanhf(u));
#endif
}

extern "C" __global__ void bias_gelu(const float* __restrict__ x, const float* __restrict__ scale,
                                     const float* __restrict__ bias, float* __restrict__ y,
                                     int rows, int cols)
{
#if COALESCE
    const int row = blockIdx.y;
    const int first = blockIdx.x * WORK * BLOCK + threadIdx.x;
    const int step = BLOCK;
#else
    const int row = blockIdx.y * BLOCK + threadIdx.x;
    const int first = blockIdx.x * WORK;
    const int step = 1;
#endif
    if (row >= rows) return;
    const size_t start = static_cast<size_t>(row) * cols;

#pragma unroll
    for (int i = 0; i < WORK; ++i) {
        const int column = (first + i * step) * VEC;
        if (column >= cols) return;
        const Pack in = load(x + start + column);
        const Pack s = load(scale + column);
        const Pack b = load(bias + column);
        Pack out;
#pragma unroll
        for (int k = 0; k < VEC; ++k) out.v[k] = gelu(s.v[k] * in.v[k] + b.v[k]);
        *reinterpret_cast<Pack*>(y + start + column) = out;
    }
}
