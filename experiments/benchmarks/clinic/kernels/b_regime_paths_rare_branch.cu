// Planted: a branch that is almost never taken keeps 128 values in registers, so that only eight
// warps fit an SM, each waiting for its next row. Repair: that branch reads its values again.
/* rooftree
[shape]
paths = 57344
steps = 8
width = 128
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "shocks"
role = "input"
shape = ["steps", "paths", 2, "width"]
[[buffer]]
name = "total"
role = "output"
shape = ["paths", "width // 4"]
[cost]
bytes = "4 * paths * width * steps + paths * width"
flops = "paths * width * steps"
[[launch]]
kernel = "regime_paths"
grid = ["paths // 8"]
block = [256]
args = ["shocks", "total", "paths"]
*/
constexpr int STEPS = 8, QUADS = 32;  // float4 per row of shocks
constexpr float CRASH = 5.0f;         // standard deviations

__device__ float moment(const float4& v, float centre, int power)
{
    const float a = v.x - centre, b = v.y - centre, c = v.z - centre, d = v.w - centre;
    if (power == 1)
        return a + b + c + d;
    const float e = a * a, f = b * b, g = c * c, h = d * d;
    return power == 2 ? e + f + g + h : e * e + f * f + g * g + h * h;
}

__device__ float kurtosis(const float4* row)
{
#if REPAIRED
#define VALUE(k) row[k]
#else
    float4 values[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; ++k)
        values[k] = row[k];
#define VALUE(k) values[k]
#endif
    constexpr int UNROLL = REPAIRED ? 2 : QUADS;
    float mean = 0.0f, variance = 0.0f, fourth = 0.0f;
#pragma unroll UNROLL
    for (int k = 0; k < QUADS; ++k)
        mean += moment(VALUE(k), 0.0f, 1) / (4 * QUADS);
#pragma unroll UNROLL
    for (int k = 0; k < QUADS; ++k)
        variance += moment(VALUE(k), mean, 2) / (4 * QUADS);
#pragma unroll UNROLL
    for (int k = 0; k < QUADS; ++k)
        fourth += moment(VALUE(k), mean, 4) / (4 * QUADS);
    return fourth / (variance * variance);
}

// One warp per path. The sign of a step's first shock chooses the calm or turbulent row that follows.
extern "C" __global__ void regime_paths(const float4* shocks, float* total, int paths)
{
    const int path = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int regime = 0;
    float sum = 0.0f;
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
        const float4* row = shocks + ((step * paths + path) * 2 + regime) * QUADS;
        const float4 v = row[lane];
        sum += v.x + v.y + v.z + v.w;
        if (v.x > CRASH)
            sum -= kurtosis(row);
        regime = __shfl_sync(~0u, v.x, 0) > 0.0f;
    }
    total[path * 32 + lane] = sum;
}
