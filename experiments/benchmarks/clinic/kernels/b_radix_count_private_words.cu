// Planted: each of 256 threads counts 128 digits in 32-bit words of its own, 128 KB of shared
// memory per block, so that eight warps fit an SM. Repair: one byte per counter (it sees 120 keys).
/* rooftree
[shape]
blocks = 2376
n = 72990720
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "keys"
role = "input"
shape = ["n"]
[[buffer]]
name = "counts"
role = "output"
dtype = "int32"
shape = ["blocks", 2, 128]
[cost]
bytes = "4 * n"
flops = "n"
math = "int32"
[[launch]]
kernel = "radix_count"
grid = ["blocks"]
block = [256]
args = ["keys", "counts"]
shared = "128 * 256 * (1 if REPAIRED else 4)"
*/
constexpr unsigned DIGITS = 128, THREADS = 256, QUADS = 30;

#if REPAIRED
typedef unsigned char Counter;  // a thread's digits share words, so that it keeps its bank
__device__ unsigned slot(unsigned digit, unsigned thread)
{
    return (digit / 4 * THREADS + thread) * 4 + digit % 4;
}
#else
typedef int Counter;
__device__ unsigned slot(unsigned digit, unsigned thread) { return digit * THREADS + thread; }
#endif

extern "C" __global__ void radix_count(const uint4* __restrict__ keys, int* __restrict__ counts)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Counter* count = (Counter*)memory;
    const unsigned thread = threadIdx.x;
    for (unsigned i = thread; i < DIGITS * THREADS * sizeof(Counter) / 16; i += THREADS)
        ((uint4*)memory)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    keys += blockIdx.x * QUADS * THREADS + thread;
#pragma unroll 2
    for (unsigned k = 0; k < QUADS; ++k) {
        const uint4 v = keys[k * THREADS];
        ++count[slot(v.x >> 9 & 127, thread)];
        ++count[slot(v.y >> 9 & 127, thread)];
        ++count[slot(v.z >> 9 & 127, thread)];
        ++count[slot(v.w >> 9 & 127, thread)];
    }
    __syncthreads();
    const unsigned digit = thread % DIGITS, first = thread / DIGITS * 128;  // half of the columns
    int sum = 0;
#pragma unroll 16
    for (unsigned k = 0; k < 128; ++k)  // start at its own column: 32 lanes, 32 banks
        sum += count[slot(digit, first + (thread + k) % 128)];
    counts[blockIdx.x * THREADS + thread] = sum;
}
