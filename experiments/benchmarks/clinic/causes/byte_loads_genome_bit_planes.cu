// Planted: a thread loads one base and the warp votes on its two bits. Repair: 16 bases per 128-bit
// load, their bits gathered by a multiplication per word.
/* rooftree
[shape]
bases = 402653184
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "genome"
role = "input"
dtype = "uint8"
shape = ["bases"]
[[buffer]]
name = "planes"
role = "output"
dtype = "int32"
shape = [2, "bases // 32"]
[cost]
bytes = "bases + bases // 4"
flops = "2 * bases"
math = "int32"
[[launch]]
kernel = "bit_planes"
grid = ["bases // 4096 if REPAIRED else bases // 256"]
block = [256]
args = ["genome", "planes", "bases"]
*/
#if REPAIRED
__device__ unsigned nibble(unsigned word, int bit)
{
    return ((word >> bit) & 0x01010101u) * 0x10204080u >> 28;
}

__device__ unsigned sixteen(uint4 v, int bit)
{
    return nibble(v.x, bit) | nibble(v.y, bit) << 4 | nibble(v.z, bit) << 8 | nibble(v.w, bit) << 12;
}

extern "C" __global__ void bit_planes(const uint4* __restrict__ genome, unsigned* planes, int bases)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const uint4 v = genome[i];
    const unsigned low = sixteen(v, 1), high = sixteen(v, 2);
    const bool odd = i & 1;
    const unsigned got = __shfl_xor_sync(~0u, odd ? low : high, 1);  // even lanes write the low plane
    planes[i / 2 + (odd ? bases / 32 : 0)] = odd ? got | high << 16 : low | got << 16;
}
#else
extern "C" __global__ void bit_planes(const unsigned char* __restrict__ genome, unsigned* planes,
    int bases)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const unsigned base = genome[i];  // A 0x41, C 0x43, T 0x54, G 0x47: bits 1 and 2 tell them apart
    const unsigned low = __ballot_sync(~0u, base & 2), high = __ballot_sync(~0u, base & 4);
    if (threadIdx.x % 32 == 0) {
        planes[i / 32] = low;
        planes[bases / 32 + i / 32] = high;
    }
}
#endif
