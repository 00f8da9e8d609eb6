// Planted: the first warp alone scans the counts of the block, 32 rounds one after the other, while 31
// warps wait at the barrier. Repair: every warp scans its own 32 counts, and only their totals remain.
/* rooftree
[shape]
points = 67108864
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "spectrum"
role = "input"
shape = ["points"]
[[buffer]]
name = "peaks"
role = "output"
shape = ["points"]
[[buffer]]
name = "found"
role = "output"
dtype = "int32"
shape = ["points // 2048"]
[cost]
bytes = "8 * points + points // 512"
flops = "points"
[[launch]]
kernel = "pack_peaks"
grid = ["points // 2048"]
block = [1024]
args = ["spectrum", "peaks", "found", { value = 0.5, type = "float32" }]
*/
constexpr unsigned ALL = 0xffffffffu;

__device__ __forceinline__ int warp_scan(int value, int lane)  // inclusive
{
#pragma unroll
    for (int far = 1; far < 32; far *= 2) {
        const int other = __shfl_up_sync(ALL, value, far);
        if (lane >= far)
            value += other;
    }
    return value;
}

// Mass spectra in tiles of 2048 points: the intensities above the noise move to the front of their tile.
extern "C" __global__ void __launch_bounds__(1024, 2) pack_peaks(const float2* __restrict__ spectrum,
    float2* __restrict__ peaks, int* __restrict__ found, float noise)
{
    __shared__ float packed[2048];
    __shared__ int total;
    const int t = threadIdx.x, lane = t % 32, at = blockIdx.x * 1024 + t;
    const float2 pair = spectrum[at];
    const int low = pair.x > noise, high = pair.y > noise, count = low + high;
#if REPAIRED
    __shared__ int sums[32];
    const int upto = warp_scan(count, lane);
    if (lane == 31)
        sums[t / 32] = upto;
    __syncthreads();
    if (t < 32) {
        const int mine = sums[lane], all = warp_scan(mine, lane);
        sums[lane] = all - mine;
        if (lane == 31)
            total = all;
    }
    __syncthreads();
    const int place = sums[t / 32] + upto - count;
#else
    __shared__ int counts[1024];
    counts[t] = count;
    __syncthreads();
    if (t < 32) {
        int carry = 0;
        for (int round = 0; round < 32; ++round) {
            const int mine = counts[round * 32 + lane];
            const int upto = warp_scan(lane == 0 ? carry + mine : mine, lane);
            counts[round * 32 + lane] = upto - mine;
            carry = __shfl_sync(ALL, upto, 31);
        }
        if (lane == 0)
            total = carry;
    }
    __syncthreads();
    const int place = counts[t];
#endif
    if (low)
        packed[place] = pair.x;
    if (high)
        packed[place + low] = pair.y;
    __syncthreads();
    peaks[at] = make_float2(2 * t < total ? packed[2 * t] : 0.0f, 2 * t + 1 < total ? packed[2 * t + 1] : 0.0f);
    if (t == 0)
        found[blockIdx.x] = total;
}
