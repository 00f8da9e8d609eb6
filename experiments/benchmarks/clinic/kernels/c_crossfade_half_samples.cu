// Planted: two recordings of 16-bit floats are cross-faded one sample per thread, 64 bytes per warp and
// load. Repair: eight samples per thread in 128-bit accesses.
/* rooftree
[shape]
n = 67108864
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "from"
role = "input"
dtype = "float16"
shape = ["n"]
[[buffer]]
name = "to"
role = "input"
dtype = "float16"
shape = ["n"]
[[buffer]]
name = "mixed"
role = "output"
dtype = "float16"
shape = ["n"]
[cost]
bytes = "6 * n"
flops = "3 * n"
math = "fp16"
[[launch]]
kernel = "crossfade"
grid = ["n // (256 + 1792 * REPAIRED)"]
block = [256]
args = ["from", "to", "mixed"]
*/
#if REPAIRED
__device__ unsigned blend(unsigned a, unsigned b)
{
    unsigned y;  // 0.75 a + 0.25 b, two samples at a time
    asm("{ .reg .b32 t; mul.rn.f16x2 t, %1, %3; fma.rn.f16x2 %0, %2, %4, t; }"
        : "=r"(y) : "r"(a), "r"(b), "r"(0x3a003a00u), "r"(0x34003400u));
    return y;
}

extern "C" __global__ void crossfade(const uint4* from, const uint4* to, uint4* mixed)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const uint4 a = from[i], b = to[i];
    mixed[i] = make_uint4(blend(a.x, b.x), blend(a.y, b.y), blend(a.z, b.z), blend(a.w, b.w));
}
#else
__device__ unsigned short blend(unsigned short a, unsigned short b)
{
    unsigned short y;
    asm("{ .reg .b16 t; mul.rn.f16 t, %1, %3; fma.rn.f16 %0, %2, %4, t; }"
        : "=h"(y) : "h"(a), "h"(b), "h"((unsigned short)0x3a00), "h"((unsigned short)0x3400));
    return y;
}

extern "C" __global__ void crossfade(const unsigned short* from, const unsigned short* to,
                                     unsigned short* mixed)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    mixed[i] = blend(from[i], to[i]);
}
#endif
