// Planted: one lag per thread, so that each multiply-add loads both of its samples from L1 again.
// Repair: eight lags per thread slide a window of registers along a padded tile in shared memory.
/* rooftree
[shape]
segments = 1024
hop = 4096
lags = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "voltage"
role = "input"
shape = ["segments * hop + lags"]
[[buffer]]
name = "correlation"
role = "output"
shape = ["segments", "lags"]
[cost]
bytes = "4 * segments * (hop + lags)"
flops = "2 * segments * hop * lags"
[[launch]]
kernel = "autocorrelation"
grid = ["segments"]
block = ["lags // 8 if REPAIRED else lags"]
args = ["voltage", "correlation"]
*/
constexpr int HOP = 4096, LAGS = 512;

extern "C" __global__ void autocorrelation(const float* __restrict__ voltage, float* correlation)
{
    const float* piece = voltage + blockIdx.x * HOP;
#if REPAIRED
    __shared__ float tile[(HOP + LAGS) / 8 * 9];
    for (int i = threadIdx.x; i < (HOP + LAGS) / 4; i += LAGS / 8) {
        const float4 v = ((const float4*)piece)[i];
        float* to = tile + i * 4 + i / 2;
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    __syncthreads();
    const float* mine = tile + threadIdx.x * 9;
    float sum[8] = {}, w[16];
#pragma unroll
    for (int k = 0; k < 8; ++k) w[k] = mine[k];
#pragma unroll 2
    for (int t = 0; t < HOP; t += 8) {
        const float4 a = ((const float4*)(piece + t))[0], b = ((const float4*)(piece + t))[1];
        const float s[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        mine += 9;
#pragma unroll
        for (int k = 0; k < 8; ++k) w[8 + k] = mine[k];
#pragma unroll
        for (int k = 0; k < 64; ++k) sum[k % 8] += s[k / 8] * w[k / 8 + k % 8];
#pragma unroll
        for (int k = 0; k < 8; ++k) w[k] = w[8 + k];
    }
    float4* out = (float4*)(correlation + blockIdx.x * LAGS + threadIdx.x * 8);
    out[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    out[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
#else
    float sum = 0.0f;
#pragma unroll 8
    for (int t = 0; t < HOP; ++t)
        sum += piece[t] * piece[t + threadIdx.x];
    correlation[blockIdx.x * LAGS + threadIdx.x] = sum;
#endif
}
