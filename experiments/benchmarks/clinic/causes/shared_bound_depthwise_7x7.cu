// Planted: a depthwise 7 x 7 convolution reads one word of shared memory for each multiply-add. Repair: 4 x 8
// outputs per thread, each row of inputs read once, 128 bits at a time.
/* rooftree
[shape]
planes = 256
channels = 64
size = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "padded"
role = "input"
shape = ["planes", "size + 6", "size + 8"]
[[buffer]]
name = "weights"
role = "input"
shape = ["channels", 49]
[[buffer]]
name = "out"
role = "output"
shape = ["planes", "size", "size"]
[cost]
bytes = "4 * planes * ((size + 6) * (size + 8) + size * size)"
flops = "98 * planes * size * size"
[[launch]]
kernel = "depthwise"
grid = ["size // 128", "size // 32", "planes"]
block = ["128 if REPAIRED else 256"]
args = ["padded", "weights", "out", "channels", "size"]
*/
constexpr int WIDE = 128, TALL = 32, PITCH = WIDE + 8;

extern "C" __global__ void depthwise(const float* __restrict__ padded, const float* __restrict__ weights,
    float* __restrict__ out, int channels, int size)
{
    __shared__ __align__(16) float tile[(TALL + 6) * PITCH];
    const int t = threadIdx.x, x0 = blockIdx.x * WIDE, y0 = blockIdx.y * TALL, plane = blockIdx.z;
    const float* from = padded + (plane * (size + 6) + y0) * (size + 8) + x0;
    for (int i = t; i < (TALL + 6) * PITCH / 4; i += blockDim.x)
        *(float4*)&tile[i * 4] = *(const float4*)&from[i / (PITCH / 4) * (size + 8) + i % (PITCH / 4) * 4];
    float w[49];
#pragma unroll
    for (int k = 0; k < 49; ++k) w[k] = weights[plane % channels * 49 + k];
    __syncthreads();
    out += (plane * size + y0) * size + x0;
#if REPAIRED
    const int x = t % 32 * 4, y = t / 32 * 8;
    float sum[8][4] = {}, v[12];
#pragma unroll
    for (int r = 0; r < 14; ++r) {
#pragma unroll
        for (int k = 0; k < 12; k += 4) *(float4*)&v[k] = *(float4*)&tile[(y + r) * PITCH + x + k];
#pragma unroll
        for (int o = 0; o < 8; ++o)
            if (r >= o && r - o < 7)
#pragma unroll
                for (int k = 0; k < 28; ++k) sum[o][k / 7] += w[(r - o) * 7 + k % 7] * v[k / 7 + k % 7];
    }
#pragma unroll
    for (int o = 0; o < 8; ++o) *(float4*)&out[(y + o) * size + x] = *(float4*)sum[o];
#else
#pragma unroll 1
    for (int i = t; i < WIDE * TALL; i += 256) {
        const int x = i % WIDE, y = i / WIDE;
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < 49; ++k) sum += w[k] * tile[(y + k / 7) * PITCH + x + k % 7];
        out[y * size + x] = sum;
    }
#endif
}
