/* rooftree
where = [
    "cols % VEC == 0",
    "FINISH > 0 or SHUFFLE == 1 or SLICES * BLOCK <= 264 * 256",
]

[tunables]
SLICES  = { values = [32, 264, 2112], default = 32, methods = ["parallelism.split_k"], help = "blocks that share a row" }
BLOCK   = { values = [256, 1024], default = 256, methods = ["latency.block_size"], help = "threads per block" }
ORDER   = { values = [0, 1, 2], default = 0, methods = ["memory.coalesced_access"], help = "0: a thread sums neighbours; 1: a block sums neighbours; 2: the blocks of a row stride over it together" }
VEC     = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"], help = "floats per load" }
CHAINS  = { values = [1, 4], default = 1, methods = ["latency.work_per_thread", "compute.loop_unrolling"], help = "independent loads and sums per thread and step" }
SHUFFLE = { values = [0, 1], default = 0, methods = ["compute.warp_primitives"], help = "1: warps reduce by shuffles before anything else is done" }
FINISH  = { values = [0, 1, 2, 3], default = 0, methods = ["latency.fewer_launches", "memory.fused_passes"], help = "0: atomic additions of what threads (or, with SHUFFLE, warps) have; 1: of what blocks have; 2: a second kernel adds the blocks' sums; 3: the last block does" }

[[workspace]]
name = "partial"
size = "rows * SLICES"

[[workspace]]
name = "arrived"
dtype = "int32"
size = "rows"

[[launch]]
memset = "out"
when   = "FINISH < 2"

[[launch]]
memset = "arrived"
when   = "FINISH == 3"

[[launch]]
kernel = "sum_rows"
grid   = ["SLICES", "rows"]
block  = ["BLOCK"]
args   = ["x", "out", "partial", "arrived", "cols"]

[[launch]]
kernel = "sum_partial"
grid   = ["rows"]
block  = ["BLOCK"]
args   = ["partial", "out"]
when   = "FINISH == 2"
*/

struct alignas(4 * VEC) Pack {
    float v[VEC];
};

__device__ __forceinline__ Pack load(const float* p)
{
    return *reinterpret_cast<const Pack*>(p);
}

__device__ __forceinline__ float sum_warp(float v)
{
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

// Sum over the block, valid in thread 0. All threads call it.
__device__ __forceinline__ float sum_block(float v)
{
    __shared__ float scratch[BLOCK];
    __syncthreads();  // an earlier call may still be reading
#if SHUFFLE
    v = sum_warp(v);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32)
        v = sum_warp(threadIdx.x < BLOCK / 32 ? scratch[threadIdx.x] : 0.0f);
    return v;
#else
    scratch[threadIdx.x] = v;
    for (int d = BLOCK / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (threadIdx.x < d)
            scratch[threadIdx.x] += scratch[threadIdx.x + d];
    }
    return scratch[0];
#endif
}

// What this thread sums of the row, packs begin, begin + step, ... below end.
__device__ __forceinline__ float sum_own(const float* row, int begin, int end, int step)
{
    float chain[CHAINS][VEC] = {};
    int i = begin;
    for (; i + (CHAINS - 1) * step < end; i += CHAINS * step) {
        Pack p[CHAINS];
#pragma unroll
        for (int k = 0; k < CHAINS; ++k)
            p[k] = load(row + (size_t)(i + k * step) * VEC);
#pragma unroll
        for (int k = 0; k < CHAINS; ++k)
#pragma unroll
            for (int j = 0; j < VEC; ++j)
                chain[k][j] += p[k].v[j];
    }
    for (; i < end; i += step) {
        const Pack p = load(row + (size_t)i * VEC);
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            chain[0][j] += p.v[j];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < CHAINS; ++k)
#pragma unroll
        for (int j = 0; j < VEC; ++j)
            sum += chain[k][j];
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
sum_rows(const float* __restrict__ x, float* out, float* partial, unsigned* arrived, int cols)
{
    const float* row = x + (size_t)blockIdx.y * cols;
    const int packs = cols / VEC;
#if ORDER == 0
    const int share = (packs + SLICES * BLOCK - 1) / (SLICES * BLOCK);
    const int begin = min(packs, (int)(blockIdx.x * BLOCK + threadIdx.x) * share);
    float sum = sum_own(row, begin, min(packs, begin + share), 1);
#elif ORDER == 1
    const int share = (packs + SLICES - 1) / SLICES;
    const int begin = min(packs, (int)blockIdx.x * share);
    float sum = sum_own(row, begin + threadIdx.x, min(packs, begin + share), BLOCK);
#else
    float sum = sum_own(row, blockIdx.x * BLOCK + threadIdx.x, packs, SLICES * BLOCK);
#endif

#if FINISH == 0 && SHUFFLE
    sum = sum_warp(sum);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out + blockIdx.y, sum);
#elif FINISH == 0
    atomicAdd(out + blockIdx.y, sum);
#else
    sum = sum_block(sum);
#if FINISH == 1
    if (threadIdx.x == 0)
        atomicAdd(out + blockIdx.y, sum);
#else
    float* const sums = partial + blockIdx.y * SLICES;
#if FINISH == 2
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
#else
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(arrived + blockIdx.y, 1u) == SLICES - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    sum = 0.0f;
    for (int i = threadIdx.x; i < SLICES; i += BLOCK)
        sum += __ldcg(sums + i);
    sum = sum_block(sum);
    if (threadIdx.x == 0)
        out[blockIdx.y] = sum;
#endif
#endif
#endif
}

#if FINISH == 2
extern "C" __global__ void __launch_bounds__(BLOCK) sum_partial(const float* __restrict__ partial, float* out)
{
    float sum = 0.0f;
    for (int i = threadIdx.x; i < SLICES; i += BLOCK)
        sum += partial[blockIdx.x * SLICES + i];
    sum = sum_block(sum);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}
#endif
