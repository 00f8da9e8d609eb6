// Planted: every thread of a hash join's partitioning pass has 128 counters of 32 bits, 64 KB a block, so that three
// blocks fit. Repair: no thread counts past 192, so a byte each does, and thirteen fit.
/* rooftree
[shape]
blocks = 4096
each = 192
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "keys"
role = "input"
dtype = "int32"
shape = ["blocks", "each", 128]
[[buffer]]
name = "counts"
role = "output"
dtype = "int32"
shape = ["blocks", 128]
[cost]
bytes = "512 * blocks * each + 512 * blocks"
flops = "384 * blocks * each"
math = "int32"
[[launch]]
kernel = "count_partitions"
grid = ["blocks"]
block = [128]
shared = "16384 if REPAIRED else 65536"
args = ["keys", "counts", "each"]
*/
extern __shared__ unsigned words[];

extern "C" __global__ void count_partitions(const unsigned* __restrict__ keys, int* __restrict__ counts, int each)
{
    const int t = threadIdx.x;
    const unsigned* own = keys + (long long)blockIdx.x * each * 128 + t;
    for (int i = 0; i < (REPAIRED ? 32 : 128); ++i)
        words[i * 128 + t] = 0;
#pragma unroll 2
    for (int k = 0; k < each; ++k) {
        const unsigned partition = own[k * 128] * 2654435761u >> 25;
#if REPAIRED
        ++((unsigned char*)words)[(partition / 4 * 128 + t) * 4 + partition % 4];
#else
        ++words[partition * 128 + t];
#endif
    }
    __syncthreads();
#if REPAIRED
    // Four threads sum a row of packed counters, two 16-bit sums in a word.
    unsigned even = 0, odd = 0;
    for (int i = 0; i < 32; ++i) {
        const unsigned w = words[t / 4 * 128 + t % 4 * 32 + (i + t) % 32];
        even += w & 0x00ff00ff;
        odd += w >> 8 & 0x00ff00ff;
    }
    for (int d = 1; d < 4; d *= 2) {
        even += __shfl_xor_sync(~0u, even, d);
        odd += __shfl_xor_sync(~0u, odd, d);
    }
    const unsigned pair = t & 1 ? odd : even, sum = t & 2 ? pair >> 16 : pair & 0xffff;
#else
    unsigned sum = 0;
    for (int i = 0; i < 128; ++i)
        sum += words[t * 128 + (i + t) % 128];
#endif
    counts[blockIdx.x * 128 + t] = sum;
}
