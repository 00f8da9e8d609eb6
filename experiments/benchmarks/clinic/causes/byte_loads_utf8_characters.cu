// Planted: to count the characters of a 64 KB page of text, threads test one byte per load. Repair:
// 16 bytes per load, continuation bytes marked by shifts within words and counted by one popcount.
/* rooftree
[shape]
pages = 6144
page = 65536
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "text"
role = "input"
dtype = "uint8"
shape = ["pages", "page"]
[[buffer]]
name = "characters"
role = "output"
dtype = "int32"
shape = ["pages"]
[cost]
bytes = "pages * page + 4 * pages"
flops = "2 * pages * page"
math = "int32"
[[launch]]
kernel = "count_characters"
grid = ["pages"]
block = [256]
args = ["text", "characters", "page"]
*/
__device__ unsigned continuation(unsigned word)  // bit 7 of each byte 10xxxxxx
{
    return word & ~(word << 1) & 0x80808080u;
}

extern "C" __global__ void count_characters(const unsigned char* __restrict__ text, int* characters,
    int page)
{
    __shared__ int counted[8];
    const unsigned char* mine = text + (size_t)blockIdx.x * page;
    int count = 0;
#if REPAIRED
#pragma unroll 4
    for (int i = threadIdx.x; i < page / 16; i += 256) {
        const uint4 v = ((const uint4*)mine)[i];
        count += 16 - __popc(continuation(v.x) | continuation(v.y) >> 1 | continuation(v.z) >> 2
                             | continuation(v.w) >> 3);
    }
#else
#pragma unroll 4
    for (int i = threadIdx.x; i < page; i += 256)
        count += (mine[i] & 0xc0) != 0x80;
#endif
    count = __reduce_add_sync(~0u, count);
    if (threadIdx.x % 32 == 0)
        counted[threadIdx.x / 32] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w)
            count += counted[w];
        characters[blockIdx.x] = count;
    }
}
