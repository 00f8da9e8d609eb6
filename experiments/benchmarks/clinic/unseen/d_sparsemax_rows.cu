// Planted: every step of the bisection sums a row by a tree in shared memory, with 1024 threads at a
// barrier after each of its ten levels. Repair: one warp per row, the row in registers, sums by
// shuffles, no barrier at all.
/* rooftree
[shape]
rows = 32768
vocabulary = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "scores"
role = "input"
shape = ["rows", "vocabulary"]
[[buffer]]
name = "weights"
role = "output"
shape = ["rows", "vocabulary"]
[cost]
bytes = "8 * rows * vocabulary"
flops = "75 * rows * vocabulary"
[[launch]]
kernel = "sparsemax"
grid = ["rows // 8 if REPAIRED else rows"]
block = ["256 if REPAIRED else 1024"]
args = ["scores", "weights"]
*/
constexpr int WIDTH = 1024;
constexpr int STEPS = 24;

// Sparsemax of attention scores: max(z - tau, 0), where tau makes the row sum to one. The sum falls
// with tau, and tau lies between max - 1 and max - 1 / WIDTH: bisection.
#if REPAIRED
extern "C" __global__ void __launch_bounds__(256) sparsemax(const float4* __restrict__ scores,
    float4* __restrict__ weights)
{
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    float4 z[8];
    float top = -3.4e38f;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        z[j] = scores[row * (WIDTH / 4) + j * 32 + lane];
        top = fmaxf(top, fmaxf(fmaxf(z[j].x, z[j].y), fmaxf(z[j].z, z[j].w)));
    }
    for (int mask = 16; mask > 0; mask /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, mask));

    float low = top - 1.0f, high = top - 1.0f / WIDTH;
    for (int step = 0; step < STEPS; ++step) {
        const float tau = 0.5f * (low + high);
        float a = 0.0f, b = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            a += fmaxf(z[j].x - tau, 0.0f) + fmaxf(z[j].y - tau, 0.0f);
            b += fmaxf(z[j].z - tau, 0.0f) + fmaxf(z[j].w - tau, 0.0f);
        }
        float sum = a + b;
#pragma unroll
        for (int mask = 16; mask > 0; mask /= 2)
            sum += __shfl_xor_sync(~0u, sum, mask);
        low = sum > 1.0f ? tau : low;
        high = sum > 1.0f ? high : tau;
    }
    const float tau = 0.5f * (low + high);
#pragma unroll
    for (int j = 0; j < 8; ++j)
        weights[row * (WIDTH / 4) + j * 32 + lane] =
            make_float4(fmaxf(z[j].x - tau, 0.0f), fmaxf(z[j].y - tau, 0.0f),
                fmaxf(z[j].z - tau, 0.0f), fmaxf(z[j].w - tau, 0.0f));
}
#else
extern "C" __global__ void __launch_bounds__(1024) sparsemax(const float* __restrict__ scores,
    float* __restrict__ weights)
{
    __shared__ float part[WIDTH];
    const int t = threadIdx.x;
    const float z = scores[blockIdx.x * WIDTH + t];

    part[t] = z;
    __syncthreads();
    for (int half = WIDTH / 2; half > 0; half /= 2) {
        if (t < half)
            part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    const float top = part[0];
    __syncthreads();

    float low = top - 1.0f, high = top - 1.0f / WIDTH;
    for (int step = 0; step < STEPS; ++step) {
        const float tau = 0.5f * (low + high);
        part[t] = fmaxf(z - tau, 0.0f);
        __syncthreads();
        for (int half = WIDTH / 2; half > 0; half /= 2) {
            if (t < half)
                part[t] += part[t + half];
            __syncthreads();
        }
        const float sum = part[0];
        __syncthreads();
        low = sum > 1.0f ? tau : low;
        high = sum > 1.0f ? high : tau;
    }
    weights[blockIdx.x * WIDTH + t] = fmaxf(z - 0.5f * (low + high), 0.0f);
}
#endif
