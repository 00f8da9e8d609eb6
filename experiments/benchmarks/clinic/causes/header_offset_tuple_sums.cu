// Planted: the tuples of a heap page (32 integers, 128 bytes) follow its header of 24 bytes at once, so
// that a warp's row crosses five sectors and two lines. Repair: the header is padded to 128 bytes; the
// page of 4 KB holds its 31 tuples as before.
/* rooftree
[shape]
pages = 131072
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "heap"
role = "input"
dtype = "int32"
shape = ["pages", 1024]
[[buffer]]
name = "sums"
role = "output"
dtype = "int32"
shape = ["pages * 31 // 8", 32]
[cost]
bytes = "128 * 31 * pages + 16 * 31 * pages"
flops = "32 * 31 * pages"
math = "int32"
[[launch]]
kernel = "group_sums"
grid = ["pages * 31 // 64"]
block = [256]
args = ["heap", "sums"]
*/
constexpr unsigned PAGE_BITS = 17, PAGES = 1u << PAGE_BITS, WORDS = 1024, COLUMNS = 32;
constexpr unsigned HEADER = REPAIRED ? 32 : 6, TUPLES = 31, GROUP = 8;

__device__ unsigned shuffled(unsigned page)  // where the join's order finds a page
{
    page ^= page >> 9;
    page = page * 0x9E3779B1u % PAGES;
    page ^= page >> 8;
    page = page * 0x85EBCA6Bu % PAGES;
    return page ^ page >> 9;
}

// One warp per group of eight joined tuples adds up their 32 columns.
extern "C" __global__ void group_sums(const int* __restrict__ heap, int* __restrict__ sums)
{
    const unsigned group = (blockIdx.x * 256 + threadIdx.x) / 32, column = threadIdx.x % 32;
    int value[GROUP], sum = 0;
#pragma unroll
    for (unsigned k = 0; k < GROUP; ++k) {
        const unsigned joined = group * GROUP + k;
        const unsigned slot = (joined >> PAGE_BITS) * 12 % TUPLES;
        value[k] = heap[shuffled(joined % PAGES) * WORDS + HEADER + slot * COLUMNS + column];
    }
#pragma unroll
    for (int k = 0; k < GROUP; ++k)
        sum += value[k];
    sums[group * COLUMNS + column] = sum;
}
