// Planted: 133 partitions, one block each, whose automaton of 128 KB leaves room for one block per
// multiprocessor; the last partition is scanned alone. Repair: 132 blocks that share out all row groups.
/* rooftree
[shape]
rows = 4358144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "text"
role = "input"
shape = [8, "rows", 4]
[[buffer]]
name = "automaton"
role = "input"
shape = [32768]
[[buffer]]
name = "matched"
role = "output"
dtype = "int32"
shape = ["rows"]
[cost]
bytes = "132 * rows + 131072"
flops = "128 * rows"
math = "int32"
[[launch]]
kernel = "like_filter"
grid = ["132 if REPAIRED else rows // 32768"]
block = [1024]
shared = 131072
args = ["text", "automaton", "matched", "rows"]
*/
extern "C" __global__ void __launch_bounds__(1024) like_filter(const uint4* __restrict__ text,
    const uint4* __restrict__ automaton, unsigned* __restrict__ matched, int rows)
{
    extern __shared__ uint4 staged[];
    for (int k = threadIdx.x; k < 131072 / 16; k += 1024)
        staged[k] = automaton[k];
    __syncthreads();
    const unsigned short* entry = reinterpret_cast<const unsigned short*>(staged);  // [state][letter]
#if REPAIRED
    for (int group = blockIdx.x; group < rows / 1024; group += gridDim.x) {
#else
    constexpr int GROUPS = 32;  // of 1024 rows, in a partition
    for (int group = blockIdx.x * GROUPS; group < (blockIdx.x + 1) * GROUPS; ++group) {
#endif
        const int row = group * 1024 + threadIdx.x;
        unsigned state = 0, hits = 0;
        for (int chunk = 0; chunk < 8; ++chunk) {
            const uint4 piece = text[chunk * rows + row];
            const unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
            for (int at = 0; at < 16; ++at) {
                const unsigned letter = words[at / 4] >> (at % 4 * 8) & 255;
                const unsigned next = entry[state << 8 | letter];
                state = next & 255;
                hits += next >> 15;  // an accepting transition
            }
        }
        matched[row] = hits;
    }
}
