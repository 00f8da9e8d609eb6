// Planted: a 64-tap filter along image rows reads its input from shared memory anew for every tap:
// one shared read per multiply-add. Repair: 8 outputs per thread slide a window held in registers.
/* rooftree
[shape]
rows = 8192
cols = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
shape = ["rows", "cols + 64"]
[[buffer]]
name = "out"
role = "output"
shape = ["rows", "cols"]
[cost]
bytes = "8 * rows * cols"
flops = "128 * rows * cols"
[[launch]]
kernel = "fir"
grid = ["cols // 2048", "rows"]
block = [256]
args = ["image", "out", "cols"]
*/
constexpr int TAPS = 64, SPAN = 2048;
// Four floats of padding after every 32 keep the threads' 128-bit reads apart (repaired twin).
__device__ int place(int i) { return REPAIRED ? i + i / 32 * 4 : i; }
__device__ constexpr float tap(int k) { return 0.03f - 0.0004f * k; }

extern "C" __global__ void fir(const float* __restrict__ image, float* out, int cols)
{
    __shared__ __align__(16) float line[(SPAN + TAPS) / 32 * 36];
    const int t = threadIdx.x, first = blockIdx.x * SPAN;
    const float* row = image + blockIdx.y * (cols + TAPS) + first;
    for (int i = t * 4; i < SPAN + TAPS; i += 1024)
        *(float4*)&line[place(i)] = *(const float4*)&row[i];
    __syncthreads();
    float* result = out + blockIdx.y * cols + first;
#if REPAIRED
    float sums[8] = {}, window[12];
    *(float4*)window = *(float4*)&line[place(t * 8)];
    *(float4*)(window + 4) = *(float4*)&line[place(t * 8 + 4)];
#pragma unroll
    for (int k = 0; k < TAPS; k += 4) {
        *(float4*)(window + 8) = *(float4*)&line[place(t * 8 + k + 8)];
        for (int j = 0; j < 4; ++j)
            for (int o = 0; o < 8; ++o)
                sums[o] += window[o + j] * tap(k + j);
        for (int o = 0; o < 8; ++o)
            window[o] = window[o + 4];
    }
    *(float4*)&result[t * 8] = make_float4(sums[0], sums[1], sums[2], sums[3]);
    *(float4*)&result[t * 8 + 4] = make_float4(sums[4], sums[5], sums[6], sums[7]);
#else
#pragma unroll 1
    for (int o = t; o < SPAN; o += 256) {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < TAPS; ++k)
            sum += line[o + k] * tap(k);
        result[o] = sum;
    }
#endif
}
