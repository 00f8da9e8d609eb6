// Planted: the row of the alignment matrix is a private array that a loop of variable length
// indexes, so that it lies in local memory. Repair: the length is a constant, the loop unrolled,
// and the row in registers.
/* rooftree
[shape]
pairs = 524288
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "primers"
role = "input"
dtype = "uint8"
shape = [7, "pairs", 4]
[[buffer]]
name = "windows"
role = "input"
dtype = "uint8"
shape = [16, "pairs", 4]
[[buffer]]
name = "scores"
role = "output"
dtype = "int32"
shape = ["pairs"]
[cost]
bytes = "96 * pairs"
flops = "10 * 28 * 64 * pairs"
math = "int32"
[[launch]]
kernel = "align"
grid = ["pairs // 128"]
block = [128]
args = ["primers", "windows", "scores", "pairs", 28]
*/
#define PRIMER 28
#define WINDOW 64
#define MATCH 5
#define MISMATCH -4
#define GAP_OPEN 8
#define GAP_EXTEND 2

// Best local alignment (affine gaps) of a PCR primer of 28 bases with a window of 64.
extern "C" __global__ void __launch_bounds__(128, 4) align(const uchar4* __restrict__ primers,
    const uchar4* __restrict__ windows, int* __restrict__ scores, int count, int length)
{
    const int pair = blockIdx.x * 128 + threadIdx.x;
#if REPAIRED
    const int columns = PRIMER;
#else
    const int columns = length;
#endif

    // Bit j of low and high: the two bits of base j of the primer.
    unsigned low = 0, high = 0;
#pragma unroll
    for (int q = 0; q < PRIMER / 4; ++q) {
        const uchar4 g = primers[q * count + pair];
        low |= ((g.x & 1u) | (g.y & 1u) << 1 | (g.z & 1u) << 2 | (g.w & 1u) << 3) << 4 * q;
        high |= ((g.x >> 1 & 1u) | (g.y >> 1 & 1u) << 1 | (g.z >> 1 & 1u) << 2 | (g.w >> 1 & 1u) << 3)
            << 4 * q;
    }

    int score[PRIMER], gap[PRIMER];
#if REPAIRED
#pragma unroll
#endif
    for (int j = 0; j < columns; ++j)
        score[j] = gap[j] = 0;

    int best = 0;
    uchar4 next = windows[pair];
    for (int q = 0; q < WINDOW / 4; ++q) {
        const unsigned bases[4] = { next.x, next.y, next.z, next.w };
        if (q + 1 < WINDOW / 4)
            next = windows[(q + 1) * count + pair];
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const unsigned same = ~((low ^ -(bases[b] & 1u)) | (high ^ -(bases[b] >> 1 & 1u)));
            int diagonal = 0, left = 0, run = 0;
#if REPAIRED
#pragma unroll
#endif
            for (int j = 0; j < columns; ++j) {
                const int above = score[j];
                const int down = max(gap[j] - GAP_EXTEND, above - GAP_OPEN);
                run = max(run - GAP_EXTEND, left - GAP_OPEN);
                const int step = diagonal + (same >> j & 1u ? MATCH : MISMATCH);
                left = max(max(step, 0), max(down, run));
                diagonal = above;
                score[j] = left;
                gap[j] = down;
                best = max(best, left);
            }
        }
    }
    scores[pair] = best;
}
