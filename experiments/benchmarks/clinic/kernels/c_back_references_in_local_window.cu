// Planted: the decoder's window of the last 16 words is a per-thread array read at a position that
// the data gives, so it lies in local memory. Repair: one shared memory column per thread.
/* rooftree
[shape]
streams = 1048576
chunks = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "token"
role = "input"
shape = ["chunks", "streams", 4]
[[buffer]]
name = "checksum"
role = "output"
dtype = "int32"
shape = ["streams"]
[cost]
bytes = "(16 * chunks + 4) * streams"
flops = "0"
math = "fp32"
[[launch]]
kernel = "decode_and_check"
grid = ["streams / 256"]
block = [256]
args = ["token", "checksum", "streams", "chunks"]
*/
extern "C" __global__ void __launch_bounds__(256)
    decode_and_check(const uint4* token, unsigned* checksum, int streams, int chunks)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
#if REPAIRED
    __shared__ unsigned column[16][256];
#define WINDOW(k) column[k][threadIdx.x]
#else
    unsigned window[16];
#define WINDOW(k) window[k]
#endif
#pragma unroll
    for (int k = 0; k < 16; ++k)
        WINDOW(k) = 0x9e3779b9u * k;
    unsigned sum = 1;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const uint4 packed = token[chunk * streams + i];
        const unsigned words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
        for (int at = 0; at < 32; ++at) {
            // A token says how far back the word stands that the next one is predicted from.
            const unsigned distance = words[at / 8] >> (at % 8 * 4) & 15;
            const unsigned value = WINDOW((at - distance) & 15) * 33 + distance;
            WINDOW(at & 15) = value;
            sum = (sum << 5 | sum >> 27) ^ value;
        }
    }
    checksum[i] = sum;
}
