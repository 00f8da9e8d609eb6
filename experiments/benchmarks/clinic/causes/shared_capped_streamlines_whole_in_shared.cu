// Planted: 64 streamlines of 128 points are kept whole in shared memory (65 KB) to be written out line by line. Repair:
// every eight points are written out, so that 4 KB do.
/* rooftree
[shape]
lines = 524288
size = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "u"
role = "input"
fill = "uniform"
shape = ["size", "size"]
[[buffer]]
name = "v"
role = "input"
fill = "uniform"
shape = ["size", "size"]
[[buffer]]
name = "points"
role = "output"
shape = ["lines", 128, 2]
[cost]
bytes = "1024 * lines + 8 * size * size"
flops = "128 * 8 * lines"
[[launch]]
kernel = "trace"
grid = ["lines // 64"]
block = [64]
shared = "8 * (8 * 66 if REPAIRED else 128 * 65)"
args = ["u", "v", "points", "size"]
*/
constexpr int STEPS = 128, KEPT = REPAIRED ? 8 : STEPS, PITCH = REPAIRED ? 66 : 65;
extern __shared__ float2 kept[];

__device__ float2 move(const float* u, const float* v, float2 from, float2 at, float h, int size)
{
    const int cell = (int)at.y * size + (int)at.x;
    const float far = size - 1.0f;
    return make_float2(fminf(fmaxf(from.x + h * u[cell], 0.0f), far), fminf(fmaxf(from.y + h * v[cell], 0.0f), far));
}

extern "C" __global__ void trace(const float* __restrict__ u, const float* __restrict__ v, float2* __restrict__ points,
    int size)
{
    const int t = threadIdx.x, line = blockIdx.x * 64 + t;
    float2 p = make_float2(line % 4096 * 0.25f, line / 4096 % 128 * 8.0f + 0.5f);
    for (int first = 0; first < STEPS; first += KEPT) {
        for (int s = 0; s < KEPT; ++s) {
            const float2 half = move(u, v, p, p, 0.015f, size);
            p = move(u, v, p, half, 0.03f, size);
            kept[s * PITCH + t] = p;
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < KEPT; ++k) {
            const int i = k * 64 + t;
            points[(blockIdx.x * 64 + i / KEPT) * STEPS + first + i % KEPT] = kept[i % KEPT * PITCH + i / KEPT];
        }
        __syncthreads();
    }
}
