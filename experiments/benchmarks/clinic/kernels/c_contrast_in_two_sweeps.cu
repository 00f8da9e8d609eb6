// Planted: brightness and contrast of a video are summed in two sweeps over all of it, each from
// device memory. Repair: one sweep takes both sums.
/* rooftree
[shape]
n = 100663296
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "video"
role = "input"
shape = ["n"]
[[buffer]]
name = "sums"
role = "output"
shape = [2, 1056]
[cost]
bytes = "4 * n"
flops = "3 * n"
[[launch]]
kernel = "contrast"
grid = [1056]
block = [256]
args = ["video", "sums", "n"]
*/
__device__ void store(float sum, float* out)
{
    __shared__ float warps[8];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        *out = warps[0] + warps[1] + warps[2] + warps[3] + warps[4] + warps[5] + warps[6] + warps[7];
}

extern "C" __global__ void contrast(const float4* __restrict__ video, float* sums, int n)
{
    float sum = 0.0f, squares = 0.0f;
    const int first = blockIdx.x * 256 + threadIdx.x, step = gridDim.x * 256;
#pragma unroll 4
    for (int i = first; i < n / 4; i += step) {
        const float4 v = video[i];
        sum += v.x + v.y + v.z + v.w;
#if REPAIRED
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
#endif
    }
#if !REPAIRED
#pragma unroll 4
    for (int i = first; i < n / 4; i += step) {
        const float4 v = video[i];
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
#endif
    store(sum, &sums[blockIdx.x]);
    store(squares, &sums[gridDim.x + blockIdx.x]);
}
