// Planted: the hashes of a count-min sketch take 64-bit remainders by a prime that the compiler does
// not know. Repair: the prime is 2^31 - 1, so folding high and low bits gives the same remainder.
/* rooftree
[shape]
keys = 16777216
prime = 2147483647
width = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "key"
role = "input"
dtype = "int32"
shape = ["keys"]
[[buffer]]
name = "column"
role = "output"
dtype = "int32"
shape = [4, "keys"]
[cost]
bytes = "20 * keys"
flops = "0"
math = "fp32"
[[launch]]
kernel = "sketch_columns"
grid = ["keys / 1024"]
block = [256]
args = ["key", "column", "keys", "prime", "width"]
*/
typedef unsigned long long u64;

__device__ unsigned column_of(unsigned key, unsigned row, unsigned prime, unsigned width)
{
    const u64 mixed = (u64)(key ^ 0x2545f491u) * (0x3c6ef372u + 0x01234567u * row) + 0x1b873593u;
#if REPAIRED
    unsigned folded = (unsigned)(mixed & 0x7fffffffu) + (unsigned)(mixed >> 31 & 0x7fffffffu);
    folded = (folded & 0x7fffffffu) + (folded >> 31) + (unsigned)(mixed >> 62);
    return (folded >= 0x7fffffffu ? folded - 0x7fffffffu : folded) & (width - 1);
#else
    return (unsigned)(mixed % (u64)prime) % width;
#endif
}

extern "C" __global__ void sketch_columns(const uint4* key, uint4* column, int keys, int prime,
                                          int width)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const uint4 k = key[i];
#pragma unroll
    for (int row = 0; row < 4; ++row)
        column[row * (keys / 4) + i] =
            make_uint4(column_of(k.x, row, prime, width), column_of(k.y, row, prime, width),
                       column_of(k.z, row, prime, width), column_of(k.w, row, prime, width));
}
