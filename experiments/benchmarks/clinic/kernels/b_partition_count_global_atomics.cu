// Planted: every key adds one to one of 512 counters in global memory. Repair: counters in shared
// memory per block of 16384 keys, added to the global ones at the end.
/* rooftree
[shape]
n = 67108864
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
shape = [512]
[cost]
bytes = "4 * n"
flops = "3 * n"
math = "int32"
[[launch]]
memset = "counts"
[[launch]]
kernel = "partition_count"
grid = ["n // 16384"]
block = [256]
args = ["keys", "counts"]
*/
constexpr int QUADS = 16;  // of keys per thread

__device__ int partition(unsigned key) { return key * 2654435761u >> 23; }

extern "C" __global__ void partition_count(const uint4* __restrict__ keys, int* __restrict__ counts)
{
    keys += blockIdx.x * QUADS * 256 + threadIdx.x;
#if REPAIRED
    constexpr int PARTITIONS = 512;
    __shared__ int count[PARTITIONS];
    for (int i = threadIdx.x; i < PARTITIONS; i += 256)
        count[i] = 0;
    __syncthreads();
#else
    int* count = counts;
#endif
#pragma unroll 4
    for (int k = 0; k < QUADS; ++k) {
        const uint4 v = keys[k * 256];
        atomicAdd(&count[partition(v.x)], 1);
        atomicAdd(&count[partition(v.y)], 1);
        atomicAdd(&count[partition(v.z)], 1);
        atomicAdd(&count[partition(v.w)], 1);
    }
#if REPAIRED
    __syncthreads();
    for (int i = threadIdx.x; i < PARTITIONS; i += 256)
        atomicAdd(&counts[i], count[i]);
#endif
}
