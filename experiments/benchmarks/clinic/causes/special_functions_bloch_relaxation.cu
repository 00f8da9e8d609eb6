// Planted: before each of 128 radio pulses, two exponentials, a sine and a cosine turn and relax the spins
// of a voxel. Repair: the pulse sequence has four delays, for which they are taken once.
/* rooftree
[shape]
voxels = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "tissue"
role = "input"
fill = "uniform"
shape = ["voxels", 2]
[[buffer]]
name = "delays"
role = "input"
fill = "uniform"
shape = [4]
[[buffer]]
name = "signal"
role = "output"
shape = ["voxels", 2]
[cost]
bytes = "16 * voxels"
flops = "2048 * voxels"
[[launch]]
kernel = "bloch"
grid = ["voxels // 256"]
block = [256]
args = ["tissue", "delays", "signal"]
*/
#define PULSES 128

struct Wait { float turn_cos, turn_sin, longitudinal; };

__device__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// What free precession over a delay does to a voxel with these rates.
__device__ Wait waited(float delay, float rate1, float rate2, float detuning)
{
    const float transverse = power_of_two(-rate2 * delay), angle = detuning * delay;
    return {transverse * __cosf(angle), transverse * __sinf(angle), power_of_two(-rate1 * delay)};
}

extern "C" __global__ void bloch(
    const float2* __restrict__ tissue, const float* __restrict__ delays, float2* __restrict__ signal)
{
    __shared__ float delay[PULSES];
    if (threadIdx.x < PULSES)
        delay[threadIdx.x] = 1.0f + 0.5f * delays[threadIdx.x % 4];
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float2 t = tissue[i];
    const float rate1 = 0.02f + 0.01f * t.x, rate2 = 0.1f + 0.05f * t.x, detuning = t.y;
    float x = 0.0f, y = 0.0f, z = 1.0f;
    float2 sum = {};
#if REPAIRED
    Wait known[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        known[k] = waited(delay[k], rate1, rate2, detuning);
#endif
    for (int pulse = 0; pulse < PULSES; pulse += 4) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
#if REPAIRED
            const Wait w = known[k];
#else
            const Wait w = waited(delay[pulse + k], rate1, rate2, detuning);
#endif
            const float turned = x * w.turn_cos - y * w.turn_sin;
            y = y * w.turn_cos + x * w.turn_sin;
            z = 1.0f + (z - 1.0f) * w.longitudinal;
            x = 0.866f * turned + 0.5f * z;  // a pulse of 30 degrees about y
            z = 0.866f * z - 0.5f * turned;
            sum = make_float2(sum.x + x, sum.y + y);
        }
    }
    signal[i] = sum;
}
