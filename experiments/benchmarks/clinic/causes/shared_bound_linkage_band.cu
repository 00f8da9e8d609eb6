// Planted: co-occurrence of genetic markers in a band, one pair of markers per thread: two words of shared memory
// per dp4a. Repair: 8 x 8 pairs per thread.
/* rooftree
[shape]
markers = 8192
band = 1024
words = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "genotypes"
role = "input"
dtype = "int32"
shape = ["words", "markers + band"]
[[buffer]]
name = "linkage"
role = "output"
dtype = "int32"
shape = ["markers", "band"]
[cost]
bytes = "4 * words * (markers + band) + 4 * markers * band"
flops = "8 * markers * band * words"
math = "int32"
[[launch]]
kernel = "linkage_band"
grid = ["band // 256 if REPAIRED else band // 64", "markers // 64 if REPAIRED else markers // 16"]
block = ["256 if REPAIRED else 1024"]
args = ["genotypes", "linkage", "words", "markers + band", "band"]
*/
constexpr int MINE = REPAIRED ? 8 : 1, THREADS = REPAIRED ? 256 : 1024, DEPTH = 16;
constexpr int FIRSTS = REPAIRED ? 64 : 16, SECONDS = REPAIRED ? 256 : 64;  // markers of a block

// A word holds four samples' allele counts at a marker. A marker's band begins with its group of 64.
extern "C" __global__ void __launch_bounds__(THREADS) linkage_band(const int* __restrict__ genotypes,
    int* __restrict__ linkage, int words, int pitch, int band)
{
    __shared__ __align__(16) int first[DEPTH][FIRSTS];
    __shared__ int second[DEPTH][SECONDS];
    const int t = threadIdx.x, i0 = blockIdx.y * FIRSTS, away = blockIdx.x * SECONDS;
    const int* others = genotypes + i0 / 64 * 64 + away;
    const int i = REPAIRED ? t / 32 * 8 : t / 64, j = REPAIRED ? t % 32 : t % 64;
    int sum[MINE][MINE] = {};
    for (int word = 0; word < words; word += DEPTH) {
        for (int k = t; k < DEPTH * FIRSTS; k += THREADS)
            first[k / FIRSTS][k % FIRSTS] = genotypes[(word + k / FIRSTS) * pitch + i0 + k % FIRSTS];
        for (int k = t; k < DEPTH * SECONDS; k += THREADS)
            second[k / SECONDS][k % SECONDS] = others[(word + k / SECONDS) * pitch + k % SECONDS];
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            int a[MINE], b[MINE];
#pragma unroll
            for (int k = 0; k < MINE; ++k) a[k] = first[d][i + k], b[k] = second[d][j + k * 32];
#pragma unroll
            for (int k = 0; k < MINE * MINE; ++k)
                sum[k / MINE][k % MINE] = __dp4a(a[k / MINE], b[k % MINE], sum[k / MINE][k % MINE]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < MINE * MINE; ++k)
        linkage[(i0 + i + k / MINE) * band + away + j + k % MINE * 32] = sum[k / MINE][k % MINE];
}
