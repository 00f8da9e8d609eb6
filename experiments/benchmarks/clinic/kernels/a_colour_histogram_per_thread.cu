// Planted: each thread counts colours in an array of its own, indexed by the pixel: it lies in local
// memory. Repair: the same counts in shared memory, one column per thread.
/* rooftree
[shape]
n = 33554432
threads = 131072
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "pixels"
role = "input"
dtype = "int32"
shape = ["n"]
[[buffer]]
name = "counts"
role = "output"
dtype = "int32"
shape = [64, "threads"]
[cost]
bytes = "4 * n + 256 * threads"
flops = "n"
math = "int32"
[[launch]]
kernel = "histogram"
grid = ["threads / 128"]
block = [128]
args = ["pixels", "counts", "n", "threads"]
*/
extern "C" __global__ void histogram(const int4* pixels, int* counts, int n, int threads)
{
    const int t = blockIdx.x * 128 + threadIdx.x;
#if REPAIRED
    __shared__ int shared[64][128];
#define BIN(b) shared[b][threadIdx.x]
#else
    int own[64];
#define BIN(b) own[b]
#endif
    for (int b = 0; b < 64; ++b)
        BIN(b) = 0;
    for (int i = t; i < n / 4; i += threads) {
        const int4 v = pixels[i];
        ++BIN(v.x * v.y & 63);
        ++BIN(v.y * v.z & 63);
        ++BIN(v.z * v.w & 63);
        ++BIN(v.w * v.x & 63);
    }
    for (int b = 0; b < 64; ++b)
        counts[b * threads + t] = BIN(b);
}
