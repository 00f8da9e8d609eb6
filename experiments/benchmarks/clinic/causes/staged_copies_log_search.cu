// Planted: a scan of log text stages 16 KB at a time through registers and searches it while no load is
// under way; eight warps per multiprocessor. Repair: cp.async keeps the next two tiles on their way.
/* rooftree
[shape]
n = 402653184
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "text"
role = "input"
dtype = "uint8"
shape = ["n + 16"]
[[buffer]]
name = "words"
role = "input"
dtype = "int32"
shape = [2]
[[buffer]]
name = "counts"
role = "output"
dtype = "int32"
shape = [132, 8, 2]
[cost]
bytes = "n"
flops = "6 * n"
math = "int32"
[[launch]]
kernel = "count_words"
grid = [132]
block = [256]
shared = "16400 * (3 if REPAIRED else 1)"
args = ["text", "words", "counts", "n // 16384"]
*/
constexpr unsigned LOWER = 0x20202020u;  // folds the case of letters
constexpr int SLOTS = REPAIRED ? 3 : 1, TILE = 1025;  // 16 KB and the beginning of the next

__device__ void copy(uint4* to, const uint4* from)
{
#if REPAIRED
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from) : "memory");
#else
    *to = *from;
#endif
}

// Counts where two words of four letters begin, at any byte.
extern "C" __global__ void __launch_bounds__(256) count_words(const uint4* __restrict__ text,
    const unsigned* __restrict__ words, int* __restrict__ counts, int tiles)
{
    extern __shared__ uint4 ring[];
    const int t = threadIdx.x;
    const unsigned first = words[0] | LOWER, second = words[1] | LOWER;
    int found[2] = {};
    auto fetch = [&](int tile, int slot) {
        if (tile < tiles) {
#pragma unroll
            for (int k = 0; k < 1024; k += 256)
                copy(ring + slot * TILE + k + t, text + tile * 1024 + k + t);
            if (t == 0)
                copy(ring + slot * TILE + 1024, text + tile * 1024 + 1024);
        }
    };
#if REPAIRED
    fetch(blockIdx.x, 0);
    asm volatile("cp.async.commit_group;" ::: "memory");
    fetch(blockIdx.x + gridDim.x, 1);
#endif
    for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
#if REPAIRED
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        fetch(tile + 2 * gridDim.x, (n + 2) % SLOTS);
#else
        __syncthreads();
        fetch(tile, 0);
        __syncthreads();
#endif
        const unsigned* word = (const unsigned*)(ring + n % SLOTS * TILE) + t;
#pragma unroll
        for (int k = 0; k < 4096; k += 256) {
            const unsigned low = word[k] | LOWER, high = word[k + 1] | LOWER;
#pragma unroll
            for (int byte = 0; byte < 4; ++byte) {
                const unsigned here = __funnelshift_r(low, high, 8 * byte);
                found[0] += here == first;
                found[1] += here == second;
            }
        }
    }
    for (int k = 0; k < 2; ++k) {
        const int sum = __reduce_add_sync(~0u, found[k]);
        if (t % 32 == 0)
            counts[(blockIdx.x * 8 + t / 32) * 2 + k] = sum;
    }
}
