// Planted: the optical depth along a ray is summed up by a scan in shared memory, ten steps of two barriers for
// 1024 samples. Repair: a warp per ray, scans by shuffle, no barrier.
/* rooftree
[shape]
rays = 32768
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "density"
role = "input"
shape = ["rays", 1024]
[[buffer]]
name = "weight"
role = "output"
shape = ["rays", 1024]
[cost]
bytes = "8192 * rays"
flops = "5120 * rays"
[[launch]]
kernel = "transmittance"
grid = ["rays // 8 if REPAIRED else rays"]
block = ["256 if REPAIRED else 1024"]
args = ["density", "weight"]
*/
constexpr int SAMPLES = 1024;
constexpr float STEP = 0.004f;

#if REPAIRED
extern "C" __global__ void transmittance(const float4* __restrict__ density, float4* __restrict__ weight)
{
    const int lane = threadIdx.x % 32, ray = blockIdx.x * 8 + threadIdx.x / 32;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = density[ray * (SAMPLES / 4) + k * 32 + lane];
    float before = 0.0f;  // depth ahead of these 128 samples
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float x = STEP * fabsf(v[k].x), y = x + STEP * fabsf(v[k].y), z = y + STEP * fabsf(v[k].z);
        const float own = z + STEP * fabsf(v[k].w);
        float depth = own;
#pragma unroll
        for (int reach = 1; reach < 32; reach *= 2) {
            const float other = __shfl_up_sync(~0u, depth, reach);
            if (lane >= reach) depth += other;
        }
        const float start = before + depth - own, light = __expf(-start), at_x = __expf(-start - x);
        const float at_y = __expf(-start - y), at_z = __expf(-start - z), left = __expf(-start - own);
        weight[ray * (SAMPLES / 4) + k * 32 + lane] =
            make_float4(light - at_x, at_x - at_y, at_y - at_z, at_z - left);
        before += __shfl_sync(~0u, depth, 31);
    }
}
#else
extern "C" __global__ void __launch_bounds__(SAMPLES) transmittance(
    const float* __restrict__ density, float* __restrict__ weight)
{
    __shared__ float depths[SAMPLES];
    const int t = threadIdx.x, at = blockIdx.x * SAMPLES + t;
    const float own = STEP * fabsf(density[at]);
    float depth = own;
    depths[t] = depth;
    __syncthreads();
    for (int reach = 1; reach < SAMPLES; reach *= 2) {
        if (t >= reach) depth += depths[t - reach];
        __syncthreads();
        depths[t] = depth;
        __syncthreads();
    }
    weight[at] = __expf(own - depth) - __expf(-depth);
}
#endif
