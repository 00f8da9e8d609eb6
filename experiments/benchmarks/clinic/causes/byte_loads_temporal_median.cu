// Planted: the median of three frames of film, one byte of each frame per thread. Repair: 16 bytes of
// each frame per thread, compared four at a time with byte-wise minima and maxima.
/* rooftree
[shape]
pixels = 134217728
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "before"
role = "input"
dtype = "uint8"
shape = ["pixels"]
[[buffer]]
name = "frame"
role = "input"
dtype = "uint8"
shape = ["pixels"]
[[buffer]]
name = "after"
role = "input"
dtype = "uint8"
shape = ["pixels"]
[[buffer]]
name = "clean"
role = "output"
dtype = "uint8"
shape = ["pixels"]
[cost]
bytes = "4 * pixels"
flops = "4 * pixels"
math = "int32"
[[launch]]
kernel = "remove_dust"
grid = ["pixels // (4096 if REPAIRED else 256)"]
block = [256]
args = ["before", "frame", "after", "clean"]
*/
#if REPAIRED
typedef uint4 Pixels;
__device__ unsigned median(unsigned a, unsigned b, unsigned c)
{
    return __vmaxu4(__vminu4(a, b), __vminu4(__vmaxu4(a, b), c));
}
__device__ uint4 median(uint4 a, uint4 b, uint4 c)
{
    return make_uint4(median(a.x, b.x, c.x), median(a.y, b.y, c.y), median(a.z, b.z, c.z),
        median(a.w, b.w, c.w));
}
#else
typedef unsigned char Pixels;
__device__ Pixels median(int a, int b, int c) { return max(min(a, b), min(max(a, b), c)); }
#endif

extern "C" __global__ void remove_dust(const Pixels* __restrict__ before,
    const Pixels* __restrict__ frame, const Pixels* __restrict__ after, Pixels* __restrict__ clean)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    clean[i] = median(before[i], frame[i], after[i]);
}
