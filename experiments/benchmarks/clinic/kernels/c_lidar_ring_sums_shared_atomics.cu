// Planted: all threads of a block add intensities into 16 shared sums with atomicAdd, which for floats in
// shared memory retries until it wins. Repair: every thread keeps its own 16 sums, added up once at the end.
/* rooftree
[shape]
n = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "range"
role = "input"
fill = "uniform"
shape = ["n"]
[[buffer]]
name = "intensity"
role = "input"
shape = ["n"]
[[buffer]]
name = "sums"
role = "output"
shape = [16]
[cost]
bytes = "8 * n"
flops = "2 * n"
[[launch]]
memset = "sums"
[[launch]]
kernel = "ring_sums"
grid = [1056]
block = [256]
args = ["range", "intensity", "sums", "n // 4"]
*/
#define COPIES (REPAIRED ? 256 : 1)

__device__ void add(float (*sums)[COPIES], float range, float intensity)
{
    const int ring = min((int)(range * 8.0f + 8.0f), 15);
#if REPAIRED
    sums[ring][threadIdx.x] += intensity;
#else
    atomicAdd(&sums[ring][0], intensity);
#endif
}

extern "C" __global__ void ring_sums(const float4* range, const float4* intensity, float* total, int n)
{
    __shared__ float sums[16][COPIES];
    for (int i = threadIdx.x; i < 16 * COPIES; i += 256) (&sums[0][0])[i] = 0.0f;
    __syncthreads();
#pragma unroll 2
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        const float4 r = range[i], v = intensity[i];
        add(sums, r.x, v.x);
        add(sums, r.y, v.y);
        add(sums, r.z, v.z);
        add(sums, r.w, v.w);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    for (int ring = threadIdx.x / 32; ring < 16; ring += 8) {
        float sum = 0.0f;
        for (int i = lane; i < COPIES; i += 32) sum += sums[ring][i];
        for (int reach = 16; reach > 0; reach /= 2) sum += __shfl_down_sync(~0u, sum, reach);
        if (lane == 0) atomicAdd(&total[ring], sum);
    }
}
