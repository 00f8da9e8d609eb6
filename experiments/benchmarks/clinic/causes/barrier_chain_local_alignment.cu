// Planted: Smith-Waterman along anti-diagonals, a row per thread of 1024: a barrier for each of 1535 diagonals, of
// which a thread has 512 cells. Repair: a warp per pair, 32 rows per lane, the row above by shuffle.
/* rooftree
[shape]
pairs = 1056
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "queries"
role = "input"
dtype = "int32"
shape = ["pairs", 1024]
[[buffer]]
name = "targets"
role = "input"
dtype = "int32"
shape = ["pairs", 512]
[[buffer]]
name = "scores"
role = "output"
dtype = "int32"
shape = ["pairs"]
[cost]
bytes = "6148 * pairs"
flops = "3670016 * pairs"
math = "int32"
[[launch]]
kernel = "local_alignment"
grid = ["pairs // 2 if REPAIRED else pairs"]
block = ["64 if REPAIRED else 1024"]
args = ["queries", "targets", "scores"]
*/
constexpr int ROWS = 1024, COLUMNS = 512, MATCH = 3, MISMATCH = -2, GAP = 4;

extern "C" __global__ void __launch_bounds__(REPAIRED ? 64 : 1024) local_alignment(
    const int* __restrict__ queries, const int* __restrict__ targets, int* __restrict__ scores)
{
    constexpr int PAIRS = REPAIRED ? 2 : 1, MINE = REPAIRED ? 32 : 1, LANES = ROWS / MINE;
    __shared__ int target[PAIRS][COLUMNS], edge[2][ROWS], best;
    const int slot = threadIdx.x / LANES, lane = threadIdx.x % LANES, pair = blockIdx.x * PAIRS + slot;
    for (int j = lane; j < COLUMNS; j += LANES) target[slot][j] = targets[pair * COLUMNS + j] & 3;
    int query[MINE], cell[MINE] = {}, corner = 0, top = 0;  // cells of the column before
#pragma unroll
    for (int r = 0; r < MINE; ++r) query[r] = queries[pair * ROWS + lane * MINE + r] & 3;
    if (threadIdx.x == 0) best = 0;
#if !REPAIRED
    edge[1][lane] = 0;
#endif
    __syncthreads();
    for (int step = 0; step < COLUMNS + LANES - 1; ++step) {
        const int j = step - lane;
#if REPAIRED
        int above = __shfl_up_sync(~0u, cell[MINE - 1], 1);
#else
        int above = lane ? edge[(step + 1) % 2][lane - 1] : 0;
#endif
        if (lane == 0) above = 0;
        if (j >= 0 && j < COLUMNS) {
            const int letter = target[slot][j];
            int diagonal = corner;
            corner = above;
#pragma unroll
            for (int r = 0; r < MINE; ++r) {
                const int paired = diagonal + (query[r] == letter ? MATCH : MISMATCH);
                diagonal = cell[r];
                cell[r] = above = max(max(paired, 0), max(above, diagonal) - GAP);
                top = max(top, above);
            }
        }
#if !REPAIRED
        edge[step % 2][lane] = cell[0];
        __syncthreads();
#endif
    }
    top = __reduce_max_sync(~0u, top);
#if REPAIRED
    if (lane == 0) scores[pair] = top;
#else
    if (lane % 32 == 0) atomicMax(&best, top);
    __syncthreads();
    if (lane == 0) scores[pair] = best;
#endif
}
