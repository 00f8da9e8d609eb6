// Planted: bases and qualities are loaded and stored byte by byte: a warp moves 32 bytes at a time, and
// has two such loads in flight. Repair: 16 bytes per thread and access, four lanes of a word at once.
/* rooftree
[shape]
n = 268435456
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "bases"
role = "input"
dtype = "uint8"
shape = ["n"]
[[buffer]]
name = "qualities"
role = "input"
dtype = "uint8"
shape = ["n"]
[[buffer]]
name = "masked"
role = "output"
dtype = "uint8"
shape = ["n"]
[cost]
bytes = "3 * n"
flops = "n"
math = "int32"
[[launch]]
kernel = "mask_low_quality"
grid = ["n // 16384"]
block = [256]
args = ["bases", "qualities", "masked", { value = 20, type = "uint32" }]
*/
constexpr int THREADS = 256;
constexpr int BYTES = 64;                // of a thread, in either twin

// Sequencing reads: bases whose Phred quality is below the cutoff become N.
#if REPAIRED
__device__ __forceinline__ unsigned mask4(unsigned base, unsigned quality, unsigned cutoff4)
{
    const unsigned low = __vcmpltu4(quality, cutoff4);
    return (base & ~low) | (0x4E4E4E4Eu & low);
}

extern "C" __global__ void __launch_bounds__(THREADS) mask_low_quality(const uint4* bases,
    const uint4* qualities, uint4* masked, unsigned cutoff)
{
    const unsigned cutoff4 = cutoff * 0x01010101u;
    const int first = blockIdx.x * (THREADS * BYTES / 16) + threadIdx.x;
    for (int k = 0; k < BYTES / 16; ++k) {
        const int i = first + k * THREADS;
        const uint4 b = bases[i], q = qualities[i];
        masked[i] = make_uint4(mask4(b.x, q.x, cutoff4), mask4(b.y, q.y, cutoff4),
            mask4(b.z, q.z, cutoff4), mask4(b.w, q.w, cutoff4));
    }
}
#else
extern "C" __global__ void __launch_bounds__(THREADS) mask_low_quality(const unsigned char* bases,
    const unsigned char* qualities, unsigned char* masked, unsigned cutoff)
{
    const int first = blockIdx.x * (THREADS * BYTES) + threadIdx.x;
    for (int k = 0; k < BYTES; ++k) {
        const int i = first + k * THREADS;
        const unsigned char b = bases[i], q = qualities[i];
        masked[i] = q < cutoff ? 'N' : b;
    }
}
#endif
