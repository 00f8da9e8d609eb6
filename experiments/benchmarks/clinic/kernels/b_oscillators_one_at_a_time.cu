// Planted: a thread integrates its eight van der Pol oscillators one after another; every step
// waits for the last, and four warps per multiprocessor cannot hide that. Repair: all eight at once.
/* rooftree
[shape]
n = 135168
steps = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "damping"
role = "input"
shape = ["n"]
fill = "uniform"
[[buffer]]
name = "position"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "9 * n * steps"
[[launch]]
kernel = "van_der_pol"
grid = ["n // 1024"]
block = [128]
args = ["damping", "position", "steps"]
*/
constexpr int EACH = 8, TOGETHER = REPAIRED ? EACH : 1;
constexpr float DT = 0.001f;

// Integrates `count` oscillators side by side.
template <int count> __device__ void integrate(const float* mu, float* result, int steps)
{
    float x[count], v[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
        x[k] = 1.0f;
        v[k] = 0.0f;
    }
#pragma unroll 4
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int k = 0; k < count; ++k) {
            const float force = mu[k] * v[k] * (1.0f - x[k] * x[k]) - x[k];
            v[k] += DT * force;
            x[k] += DT * v[k];
        }
    }
#pragma unroll
    for (int k = 0; k < count; ++k)
        result[k] = x[k];
}

extern "C" __global__ void van_der_pol(
    const float* __restrict__ damping, float* __restrict__ position, int steps)
{
    const int first = blockIdx.x * blockDim.x * EACH + threadIdx.x;
    float mu[EACH], result[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        mu[k] = damping[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < EACH; k += TOGETHER)
        integrate<TOGETHER>(mu + k, result + k, steps);
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        position[first + k * blockDim.x] = result[k];
}
