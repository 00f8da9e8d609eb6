// Planted: six blocks of 256 threads per SM are demanded, which leaves 40 registers to a Keccak
// state that needs 50, so lanes are spilled in every round. Repair: two blocks per SM.
/* rooftree
[shape]
leaves = 524288
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "leaf"
role = "input"
dtype = "int32"
shape = [2, "leaves", 4]
[[buffer]]
name = "digest"
role = "output"
dtype = "int32"
shape = [2, "leaves", 4]
[cost]
bytes = "64 * leaves"
flops = "0"
math = "fp32"
[[launch]]
kernel = "keccak_leaves"
grid = ["leaves / 256"]
block = [256]
args = ["leaf", "digest", "leaves"]
*/
typedef unsigned long long u64;
__device__ u64 rotate(u64 v, int by) { return by ? v << by | v >> (64 - by) : v; }

extern "C" __global__ void __launch_bounds__(256, REPAIRED ? 2 : 6)
    keccak_leaves(const ulonglong2* leaf, ulonglong2* digest, int leaves)
{
    const int turn[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                          25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
    const int i = blockIdx.x * 256 + threadIdx.x;
    const ulonglong2 low = leaf[i], high = leaf[leaves + i];
    u64 s[25] = {low.x, low.y, high.x, high.y, 6};
    s[16] = 1ull << 63;
    unsigned lfsr = 1;
#pragma unroll 2
    for (int round = 0; round < 24; ++round) {
        u64 c[5], moved[25];
#pragma unroll
        for (int x = 0; x < 5; ++x)
            c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
        for (int k = 0; k < 25; ++k) {
            const int x = k % 5, y = k / 5;
            const u64 lane = s[k] ^ c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1);
            moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotate(lane, turn[k]);
        }
#pragma unroll
        for (int k = 0; k < 25; ++k)
            s[k] = moved[k] ^ (~moved[k / 5 * 5 + (k + 1) % 5] & moved[k / 5 * 5 + (k + 2) % 5]);
        lfsr = lfsr * 0x9e3779b1u + 0x7f4a7c15u;  // round constants of our own
        s[0] ^= lfsr;
    }
    digest[i] = make_ulonglong2(s[0], s[1]);
    digest[leaves + i] = make_ulonglong2(s[2], s[3]);
}
