// Planted: each sample of an echo reads 64 earlier ones with a scalar load each, all in a row. Repair:
// each thread computes four samples from 17 loads of four floats.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "sound"
role = "input"
shape = ["n + 68"]
[[buffer]]
name = "echo"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "128 * n"
[[launch]]
kernel = "echoes"
grid = ["n // 1024 if REPAIRED else n // 256"]
block = [256]
args = ["sound", "echo"]
*/
extern "C" __global__ void echoes(const float* __restrict__ sound, float* echo)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
#if REPAIRED
    float window[68], sums[4] = {};
#pragma unroll
    for (int q = 0; q < 17; ++q)
        *(float4*)&window[4 * q] = ((const float4*)sound)[i + q];
#pragma unroll
    for (int tap = 0; tap < 64; ++tap)
#pragma unroll
        for (int k = 0; k < 4; ++k)
            sums[k] += window[tap + k] * (1.0f / (tap + 2));
    ((float4*)echo)[i] = make_float4(sums[0], sums[1], sums[2], sums[3]);
#else
    float window[64], sum = 0.0f;
#pragma unroll
    for (int tap = 0; tap < 64; ++tap)
        window[tap] = sound[i + tap];
#pragma unroll
    for (int tap = 0; tap < 64; ++tap)
        sum += window[tap] * (1.0f / (tap + 2));
    echo[i] = sum;
#endif
}
