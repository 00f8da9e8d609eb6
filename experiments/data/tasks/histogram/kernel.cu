/* rooftree
where = [
    "COPIES > 1 or LAYOUT + BY_WARP == 0",
    "COPIES < 2 or MATCH == 0",
    "FINISH == 0 or COPIES > 0 and BLOCKS <= 528",
    "MATCH == 0 or ITEMS == 1",
]

[tunables]
COPIES  = { values = [0, 1, 4, 32], default = 0, methods = ["memory.shared_tiling"], help = "counters per bin in a block's shared memory; 0: all blocks count in device memory" }
LAYOUT  = { values = [0, 1, 2], default = 0, methods = ["memory.shared_padding"], help = "of the copies; 0: one after another, 1: the same with a word between, 2: the copies of a bin side by side" }
BY_WARP = { values = [0, 1], default = 0, methods = ["memory.shared_tiling"], help = "which copy a thread counts in; 0: its lane's, 1: its warp's" }
MATCH   = { values = [0, 1], default = 0, methods = ["compute.warp_primitives"], help = "1: lanes with the same bin are counted by one of them" }
VEC     = { values = [1, 4], default = 1, methods = ["memory.vectorized_loads"], help = "floats per load" }
ITEMS   = { values = [1, 4], default = 1, methods = ["latency.work_per_thread", "compute.loop_unrolling"], help = "loads that a thread has in flight at once" }
BLOCK   = { values = [256, 1024], default = 256, methods = ["latency.block_size"], help = "threads per block" }
BLOCKS  = { values = [132, 528, 4224], default = 4224, methods = ["latency.persistent_grid"], help = "blocks that stride over the input together" }
FINISH  = { values = [0, 1], default = 0, methods = ["parallelism.split_k"], help = "0: a block adds its counts to the result by atomics; 1: it writes them down and a second kernel adds them" }

[[workspace]]
name = "partial"
dtype = "int32"
size = "256 * BLOCKS if FINISH == 1 else 1"

[[launch]]
memset = "counts"
when   = "FINISH == 0"

[[launch]]
kernel = "histogram"
grid   = ["BLOCKS"]
block  = ["BLOCK"]
shared = "4 * COPIES * 257"
args   = ["x", "counts", "partial", "n"]

[[launch]]
kernel = "add_blocks"
grid   = ["256"]
block  = ["256"]
args   = ["partial", "counts"]
when   = "FINISH == 1"
*/

#define BINS 256

struct alignas(4 * VEC) Pack {
    float v[VEC];
};

// Sixteen bins to the unit, zero in the middle; what lies outside falls into the first or last one.
__device__ __forceinline__ int bin_of(float x)
{
    return min(max(__float2int_rd(x * 16.0f) + BINS / 2, 0), BINS - 1);
}

// Where a copy keeps its counter of a bin.
__device__ __forceinline__ int slot(int copy, int bin)
{
#if LAYOUT == 0
    return copy * BINS + bin;
#elif LAYOUT == 1
    return copy * (BINS + 1) + bin;
#else
    return bin * COPIES + copy;
#endif
}

// Count one value; `bin` is -1 where there is none. With MATCH all lanes of a warp call this together.
__device__ __forceinline__ void count(int* counters, int copy, int bin)
{
    int many = 1;
#if MATCH
    const unsigned same = __match_any_sync(0xffffffffu, (unsigned)bin);
    if (__ffs((int)same) - 1 != threadIdx.x % 32)
        return;
    many = __popc(same);
#endif
    if (bin >= 0)
        atomicAdd(counters + slot(copy, bin), many);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
histogram(const float* __restrict__ x, int* counts, int* partial, int n)
{
#if COPIES > 0
    extern __shared__ int own[];
    for (int i = threadIdx.x; i < COPIES * (BINS + 1); i += BLOCK)
        own[i] = 0;
    __syncthreads();
    int* const counters = own;
    const int copy = (BY_WARP ? threadIdx.x / 32 : threadIdx.x) % COPIES;
#else
    int* const counters = counts;
    const int copy = 0;
#endif

    const int packs = n / VEC;
    const int stride = BLOCKS * BLOCK;
    // The same number of rounds for all threads of a block, so that whole warps meet in `count`.
    for (int first = blockIdx.x * BLOCK; first < packs; first += ITEMS * stride) {
        Pack p[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const int i = first + k * stride + threadIdx.x;
            if (i < packs)
                p[k] = *reinterpret_cast<const Pack*>(x + (size_t)i * VEC);
        }
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const bool there = first + k * stride + threadIdx.x < packs;
#pragma unroll
            for (int j = 0; j < VEC; ++j)
                count(counters, copy, there ? bin_of(p[k].v[j]) : -1);
        }
    }
#if VEC > 1
    if (blockIdx.x == 0) {
        const int i = packs * VEC + threadIdx.x;
        count(counters, copy, i < n ? bin_of(x[i]) : -1);
    }
#endif

#if COPIES > 0
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) {
        int sum = 0;
#pragma unroll
        for (int k = 0; k < COPIES; ++k) {
#if LAYOUT == 2
            sum += own[slot((k + threadIdx.x) % COPIES, bin)];  // or the lanes would meet in one bank
#else
            sum += own[slot(k, bin)];
#endif
        }
#if FINISH
        partial[bin * BLOCKS + blockIdx.x] = sum;
#else
        if (sum)
            atomicAdd(counts + bin, sum);
#endif
    }
#endif
}

#if FINISH
extern "C" __global__ void __launch_bounds__(256) add_blocks(const int* __restrict__ partial, int* counts)
{
    __shared__ int sums[8];
    int sum = 0;
    for (int i = threadIdx.x; i < BLOCKS; i += 256)
        sum += partial[blockIdx.x * BLOCKS + i];
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
#pragma unroll
        for (int w = 0; w < 8; ++w)
            sum += sums[w];
        counts[blockIdx.x] = sum;
    }
}
#endif
