// Planted: mates of a pair, forward and reverse, lie side by side, so a warp runs the forward and the
// backward alignment one after the other. Repair: reverse complements by bits, then one loop for all.
/* rooftree
[shape]
reads = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "pattern"
role = "input"
shape = ["reads", 4]
[[buffer]]
name = "window"
role = "input"
shape = [4, "reads", 4]
[[buffer]]
name = "distance"
role = "output"
dtype = "int32"
shape = ["reads"]
[cost]
bytes = "84 * reads"
flops = "256 * 14 * reads"
math = "int32"
[[launch]]
kernel = "align_strands"
grid = ["reads // 256"]
block = [256]
args = ["pattern", "window", "distance", "reads"]
*/
struct Column { unsigned plus = ~0u, minus = 0; int score = 32, best = 32; };  // Myers' bit vectors

__device__ void advance(Column& c, const uint4& where, unsigned base)
{
    const unsigned low = base & 1 ? where.y : where.x, high = base & 1 ? where.w : where.z;
    const unsigned same = base & 2 ? high : low;
    const unsigned across = ((same & c.plus) + c.plus ^ c.plus) | same;
    const unsigned up = c.minus | ~(across | c.plus), down = c.plus & across;
    c.score += int(up >> 31) - int(down >> 31);
    c.best = min(c.best, c.score);
    const unsigned left = same | c.minus;
    c.plus = down << 1 | ~(left | up << 1);
    c.minus = up << 1 & left;
}

extern "C" __global__ void align_strands(const uint4* __restrict__ pattern,
    const uint4* __restrict__ window, int* __restrict__ distance, int reads)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const bool reverse = i % 2;
    const uint4 where = pattern[i];  // the positions of A, C, G and T in the read
    Column column;
    if (REPAIRED || !reverse)
        for (int piece = 0; piece < 4; ++piece) {
            const uint4 text = window[(REPAIRED && reverse ? 3 - piece : piece) * reads + i];
            const bool turn = REPAIRED && reverse;
#pragma unroll 1
            for (int w = 0; w < 4; ++w) {
                const int from = turn ? 3 - w : w;
                unsigned word = from == 0 ? text.x : from == 1 ? text.y : from == 2 ? text.z : text.w;
                const unsigned back = __brev(~word);  // with the two bits of each base swapped
                word = turn ? (back >> 1 & 0x55555555u) | (back & 0x55555555u) << 1 : word;
#pragma unroll
                for (int at = 0; at < 16; ++at)
                    advance(column, where, word >> 2 * at);
            }
        }
    else
        for (int piece = 3; piece >= 0; --piece) {
            const uint4 text = window[piece * reads + i];
#pragma unroll 1
            for (int w = 3; w >= 0; --w) {
                const unsigned word = ~(w == 0 ? text.x : w == 1 ? text.y : w == 2 ? text.z : text.w);
#pragma unroll
                for (int at = 15; at >= 0; --at)
                    advance(column, where, word >> 2 * at);
            }
        }
    distance[i] = column.best;
}
