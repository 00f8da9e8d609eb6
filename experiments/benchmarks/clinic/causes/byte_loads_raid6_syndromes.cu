// Planted: P and Q of a stripe are computed byte by byte, a byte of each of four disks per thread.
// Repair: 16 bytes of each disk per thread, GF(256) doubling done on the four bytes of a word at once.
/* rooftree
[shape]
bytes = 100663296
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "disks"
role = "input"
dtype = "uint8"
shape = [4, "bytes"]
[[buffer]]
name = "parity"
role = "output"
dtype = "uint8"
shape = [2, "bytes"]
[cost]
bytes = "6 * bytes"
flops = "15 * bytes"
math = "int32"
[[launch]]
kernel = "syndromes"
grid = ["bytes // (4096 if REPAIRED else 256)"]
block = [256]
args = ["disks", "parity", "bytes"]
*/
#if REPAIRED
typedef uint4 Piece;
__device__ unsigned doubled(unsigned v)
{
    return (v << 1 & 0xfefefefeu) ^ (v >> 7 & 0x01010101u) * 0x1du;
}
__device__ uint4 doubled(uint4 v)
{
    return make_uint4(doubled(v.x), doubled(v.y), doubled(v.z), doubled(v.w));
}
__device__ uint4 plus(uint4 a, uint4 b)
{
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}
#else
typedef unsigned char Piece;
__device__ Piece doubled(Piece v) { return v << 1 ^ (v & 0x80 ? 0x1d : 0); }
__device__ Piece plus(Piece a, Piece b) { return a ^ b; }
#endif

extern "C" __global__ void syndromes(const Piece* __restrict__ disks, Piece* __restrict__ parity, int bytes)
{
    const int i = blockIdx.x * 256 + threadIdx.x, pieces = bytes / (int)sizeof(Piece);
    const Piece a = disks[i], b = disks[pieces + i], c = disks[2 * pieces + i], d = disks[3 * pieces + i];
    parity[i] = plus(plus(a, b), plus(c, d));
    parity[pieces + i] = plus(a, doubled(plus(b, doubled(plus(c, doubled(d))))));
}
