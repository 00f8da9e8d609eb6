// Planted: one exponential per pixel and splat. Repair: along eight pixels of a row a Gaussian follows from
// its neighbour by two products, so two exponentials serve eight pixels.
/* rooftree
[shape]
width = 4096
height = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "splats"
role = "input"
shape = [256, 4]
[[buffer]]
name = "heat"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "4 * width * height"
flops = "1024 * width * height"
[[launch]]
kernel = "splat"
grid = ["width * height // 2048"]
block = [256]
args = ["splats", "heat", "width"]
*/
#define STEP (1.0f / 1024)  // width of a pixel, where a splat's is about one

__device__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

extern "C" __global__ void splat(const float4* splats, float4* heat, int width)
{
    __shared__ float4 splat[256];  // centre x, centre y, weight, unused
    splat[threadIdx.x] = splats[threadIdx.x];
    __syncthreads();

    const int first = (blockIdx.x * 256 + threadIdx.x) * 8;
    const float x = (first % width) * STEP - 2.0f, y = (first / width) * STEP - 1.0f;
    float sum[8] = {};
#if REPAIRED
    const float second_ratio = power_of_two(-2.0f * STEP * STEP);
#endif
#pragma unroll 4
    for (int s = 0; s < 256; ++s) {
        const float4 p = splat[s];
        const float dy = y - p.y, dx = x - p.x;
#if REPAIRED
        float value = p.z * power_of_two(-dx * dx - dy * dy);
        float ratio = power_of_two(-2.0f * STEP * dx - STEP * STEP);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            sum[i] += value;
            value *= ratio;
            ratio *= second_ratio;
        }
#else
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float d = dx + i * STEP;
            sum[i] += p.z * power_of_two(-d * d - dy * dy);
        }
#endif
    }
    heat[first / 4] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    heat[first / 4 + 1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
}
