/* rooftree
where = [
    "width % VEC == 0",
    "LANES * VEC <= 32",
    "UNROLL == 1 or LANES * VEC <= 16",
    "STAGE == 0 or BLOCK // LANES * ROWS >= 64",
]

[tunables]
LANES  = { values = [1, 4, 8, 32], default = 1, methods = ["memory.coalesced_access", "latency.work_per_thread"], help = "threads that share one row" }
BLOCK  = { values = [128, 512], default = 128, methods = ["latency.block_size"], help = "threads per block" }
VEC    = { values = [1, 2, 4], default = 1, methods = ["memory.vectorized_loads"], help = "values and positions per load" }
UNROLL = { values = [1, 4], default = 1, methods = ["compute.loop_unrolling", "latency.work_per_thread"], help = "steps along a row whose loads are in flight together" }
ROWS   = { values = [1, 4, 16], default = 1, methods = ["latency.work_per_thread"], help = "rows that the same threads work on, one after another" }
STAGE  = { values = [0, 1], default = 0, methods = ["memory.shared_tiling"], help = "1: the part of x that the block's rows can reach is copied to shared memory first" }
HINT   = { values = [0, 1], default = 0, methods = ["memory.cache_hints"], help = "1: streaming (evict-first) loads of the matrix, so that x stays in the caches" }

[[launch]]
kernel = "spmv"
grid   = ["ceil_div(n, BLOCK // LANES * ROWS)"]
block  = ["BLOCK"]
shared = "4 * (2 * 4096 + BLOCK // LANES * ROWS) * STAGE"
args   = ["value", "position", "length", "x", "y", "n", "width"]
*/

#define GROUPS (BLOCK / LANES)
#define BAND 4096  // columns on either side of the diagonal; a power of two, so that positions are exact

struct alignas(4 * VEC) Pack {
    float v[VEC];
};

__device__ __forceinline__ Pack load(const float* p)
{
#if HINT && VEC == 4
    const float4 t = __ldcs(reinterpret_cast<const float4*>(p));
    return *reinterpret_cast<const Pack*>(&t);
#elif HINT && VEC == 2
    const float2 t = __ldcs(reinterpret_cast<const float2*>(p));
    return *reinterpret_cast<const Pack*>(&t);
#elif HINT
    return {__ldcs(p)};
#else
    return *reinterpret_cast<const Pack*>(p);
#endif
}

// A square matrix of n rows with up to `width` entries each, `width` apart in memory. Row i has
// (length[i] + 9) * width / 16 of them (length is from -8 to 7), entry j in column
// i + floor(position[i][j] * BAND), modulo n.
extern "C" __global__ void __launch_bounds__(BLOCK)
spmv(const float* __restrict__ value, const float* __restrict__ position, const int* __restrict__ length,
     const float* __restrict__ x, float* __restrict__ y, int n, int width)
{
    const int lane = threadIdx.x % LANES;
    const int first = blockIdx.x * (GROUPS * ROWS);
#if STAGE
    // x from column first - BAND on.
    extern __shared__ float window[];
    for (int i = threadIdx.x; i < 2 * BAND + GROUPS * ROWS; i += BLOCK) {
        const int column = (first - BAND + i) % n;
        window[i] = x[column < 0 ? column + n : column];
    }
    __syncthreads();
#endif
#pragma unroll 1
    for (int turn = 0; turn < ROWS; ++turn) {
        const int row = first + turn * GROUPS + threadIdx.x / LANES;
        const int many = row < n ? (length[row] + 9) * width / 16 : 0;
        const size_t begin = (size_t)row * width;
        float sum = 0.0f;
#pragma unroll UNROLL
        for (int c = lane * VEC; c < many; c += LANES * VEC) {
            const Pack v = load(value + begin + c);
            const Pack p = load(position + begin + c);
#pragma unroll
            for (int j = 0; j < VEC; ++j) {
                if (c + j >= many)
                    break;
                const int offset = __float2int_rd(p.v[j] * BAND);
#if STAGE
                if ((unsigned)(offset + BAND) < 2u * BAND) {
                    sum = fmaf(v.v[j], window[row - first + BAND + offset], sum);
                    continue;
                }
#endif
                int column = row + offset;
                if ((unsigned)column >= (unsigned)n)
                    column = (column % n + n) % n;
                sum = fmaf(v.v[j], x[column], sum);
            }
        }
#pragma unroll
        for (int d = LANES / 2; d > 0; d /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (lane == 0 && row < n)
            y[row] = sum;
    }
}
