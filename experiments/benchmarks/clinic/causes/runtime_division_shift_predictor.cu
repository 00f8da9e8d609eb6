// Planted: the correlogram of two spike trains over all circular shifts wraps its index with % in the
// innermost loop, by a length given at run time. Repair: the index is stepped and compared once in
// eight bins (a train is a multiple of those), whose first eight stand behind the last ones again.
/* rooftree
[shape]
pairs = 600
bins = 1792
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "first"
role = "input"
shape = ["pairs", "bins"]
[[buffer]]
name = "second"
role = "input"
shape = ["pairs", "bins"]
[[buffer]]
name = "correlogram"
role = "output"
shape = ["pairs", "bins"]
[cost]
bytes = "12 * pairs * bins"
flops = "2 * pairs * bins * bins"
[[launch]]
kernel = "circular_correlogram"
grid = ["bins // 256", "pairs"]
block = [256]
args = ["first", "second", "correlogram", "bins"]
*/
constexpr int MOST = 1792;
extern "C" __global__ void circular_correlogram(const float* __restrict__ first,
    const float* __restrict__ second, float* __restrict__ correlogram, int bins)
{
    __shared__ float a[MOST], b[MOST + 8];
    for (int i = threadIdx.x; i < bins; i += 256) {
        a[i] = first[blockIdx.y * bins + i];
        b[i] = second[blockIdx.y * bins + i];
    }
    if (threadIdx.x < 8)
        b[bins + threadIdx.x] = second[blockIdx.y * bins + threadIdx.x];
    __syncthreads();
    const int shift = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
#if REPAIRED
    int j = shift;
    for (int i = 0; i < bins; i += 8) {
#pragma unroll
        for (int k = 0; k < 8; ++k)
            sum = fmaf(a[i + k], b[j + k], sum);
        j = j + 8 >= bins ? j + 8 - bins : j + 8;
    }
#else
#pragma unroll 4
    for (int i = 0; i < bins; ++i)
        sum = fmaf(a[i], b[(i + shift) % bins], sum);
#endif
    correlogram[blockIdx.y * bins + shift] = sum / bins;
}
