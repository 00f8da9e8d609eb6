// Planted: the difference function of a pitch detector, one lag per thread: samples of both ends come from shared
// memory for every term. Repair: eight lags per thread slide a window held in registers.
/* rooftree
[shape]
frames = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "sound"
role = "input"
fill = "uniform"
shape = ["256 * frames + 1280"]
[[buffer]]
name = "difference"
role = "output"
shape = ["frames", 512]
[cost]
bytes = "3072 * frames + 5120"
flops = "1572864 * frames"
[[launch]]
kernel = "pitch_difference"
grid = ["frames // 2 if REPAIRED else frames"]
block = ["64 if REPAIRED else 512", "2 if REPAIRED else 1"]
args = ["sound", "difference"]
*/
constexpr int WINDOW = 1024, LAGS = 512, HOP = 256, SPAN = WINDOW + LAGS;

#if REPAIRED
// Four floats of padding after every 32 keep the threads' 128-bit reads apart.
__device__ int place(int i) { return i + i / 32 * 4; }

__device__ void read8(float* to, const float* line, int i)
{
    *(float4*)to = *(const float4*)&line[place(i)];
    *(float4*)(to + 4) = *(const float4*)&line[place(i) + 4];
}
#endif

extern "C" __global__ void pitch_difference(const float* __restrict__ sound, float* __restrict__ difference)
{
    const int t = threadIdx.x;
#if REPAIRED
    __shared__ __align__(16) float lines[2][SPAN / 32 * 36];
    float* line = lines[threadIdx.y];
    const int frame = blockIdx.x * 2 + threadIdx.y;
    for (int i = t * 4; i < SPAN; i += 256)
        *(float4*)&line[place(i)] = *(const float4*)&sound[frame * HOP + i];
    __syncthreads();
    float sum[8] = {}, late[16], early[8];
    read8(late, line, t * 8);
#pragma unroll 2
    for (int j = 0; j < WINDOW; j += 8) {
        read8(early, line, j);
        read8(late + 8, line, t * 8 + j + 8);
#pragma unroll
        for (int k = 0; k < 64; ++k) {
            const float d = early[k / 8] - late[k / 8 + k % 8];
            sum[k % 8] += d * d;
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) late[k] = late[k + 8];
    }
    for (int k = 0; k < 8; k += 4) *(float4*)&difference[frame * LAGS + t * 8 + k] = *(float4*)&sum[k];
#else
    __shared__ float line[SPAN];
    for (int i = t; i < SPAN; i += LAGS) line[i] = sound[blockIdx.x * HOP + i];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 16
    for (int j = 0; j < WINDOW; ++j) {
        const float d = line[j] - line[j + t];
        sum += d * d;
    }
    difference[blockIdx.x * LAGS + t] = sum;
#endif
}
