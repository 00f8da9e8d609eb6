// Planted: a thread loads and stores one byte. Repair: a thread moves 16 bytes as one uint4 and
// encodes four digits at once inside a 32-bit word.
/* rooftree
[shape]
n = 201326592
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "nibbles"
role = "input"
dtype = "uint8"
shape = ["n"]
[[buffer]]
name = "text"
role = "output"
dtype = "uint8"
shape = ["n"]
[cost]
bytes = "2 * n"
flops = "n"
math = "int32"
[[launch]]
kernel = "hex_digits"
grid = ["n // 4096 if REPAIRED else n // 256"]
block = [256]
args = ["nibbles", "text"]
*/
#if REPAIRED
__device__ unsigned four_digits(unsigned word)
{
    const unsigned letter = ((word + 0x76767676u) >> 7) & 0x01010101u;  // 1 where a byte is above 9
    return word + 0x30303030u + letter * ('a' - '0' - 10);
}

extern "C" __global__ void hex_digits(const uint4* __restrict__ nibbles, uint4* __restrict__ text)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 v = nibbles[i];
    text[i] = make_uint4(four_digits(v.x), four_digits(v.y), four_digits(v.z), four_digits(v.w));
}
#else
extern "C" __global__ void hex_digits(
    const unsigned char* __restrict__ nibbles, unsigned char* __restrict__ text)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char v = nibbles[i];
    text[i] = v > 9 ? 'a' + v - 10 : '0' + v;
}
#endif
