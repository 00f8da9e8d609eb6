// Planted: shortest two-leg routes (a min-plus product) with one pair of places per thread: two words of shared
// memory for each sum and minimum. Repair: 8 x 8 pairs per thread, 16 words for 64.
/* rooftree
[shape]
regions = 32
n = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "road"
role = "input"
shape = ["regions", "n", "n"]
[[buffer]]
name = "route"
role = "output"
shape = ["regions", "n", "n"]
[cost]
bytes = "8 * regions * n * n"
flops = "2 * regions * n * n * n"
[[launch]]
kernel = "two_legs"
grid = ["n // 64 if REPAIRED else n // 32", "n // 128 if REPAIRED else n // 32", "regions"]
block = ["128 if REPAIRED else 1024"]
args = ["road", "route", "n"]
*/
// Roads run both ways: the way from i to a stop is read as the way from the stop to i.
extern "C" __global__ void __launch_bounds__(REPAIRED ? 128 : 1024) two_legs(
    const float* __restrict__ road, float* __restrict__ route, int n)
{
    const int t = threadIdx.x;
    road += blockIdx.z * n * n;
    route += blockIdx.z * n * n;
#if REPAIRED
    __shared__ float4 start[16][32], end[16][16];
    const int i0 = blockIdx.y * 128, j0 = blockIdx.x * 64, ty = t / 8, tx = t % 8;
    float best[8][8];
    for (int k = 0; k < 64; ++k) best[k / 8][k % 8] = 1e30f;
    for (int stop = 0; stop < n; stop += 16) {
        for (int k = 0; k < 4; ++k)
            start[k * 4 + t / 32][t % 32] = *(const float4*)&road[(stop + k * 4 + t / 32) * n + i0 + t % 32 * 4];
        for (int k = 0; k < 2; ++k)
            end[k * 8 + t / 16][t % 16] = *(const float4*)&road[(stop + k * 8 + t / 16) * n + j0 + t % 16 * 4];
        __syncthreads();
#pragma unroll 4
        for (int s = 0; s < 16; ++s) {
            float a[8], b[8];
            *(float4*)a = start[s][ty], *(float4*)(a + 4) = start[s][ty + 16];
            *(float4*)b = end[s][tx], *(float4*)(b + 4) = end[s][tx + 8];
#pragma unroll
            for (int k = 0; k < 64; ++k) best[k / 8][k % 8] = fminf(best[k / 8][k % 8], a[k / 8] + b[k % 8]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 8; ++r)
        for (int h = 0; h < 8; h += 4)
            *(float4*)&route[(i0 + ty * 4 + r % 4 + r / 4 * 64) * n + j0 + tx * 4 + h * 8] = *(float4*)&best[r][h];
#else
    __shared__ float start[32][32], end[32][32];
    const int i0 = blockIdx.y * 32, j0 = blockIdx.x * 32, ty = t / 32, tx = t % 32;
    float best = 1e30f;
    for (int stop = 0; stop < n; stop += 32) {
        start[ty][tx] = road[(stop + ty) * n + i0 + tx];
        end[ty][tx] = road[(stop + ty) * n + j0 + tx];
        __syncthreads();
#pragma unroll
        for (int s = 0; s < 32; ++s) best = fminf(best, start[s][ty] + end[s][tx]);
        __syncthreads();
    }
    route[(i0 + ty) * n + j0 + tx] = best;
#endif
}
