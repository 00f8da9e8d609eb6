// Planted: an exponential for each of 12 absorption coefficients along each of 4 slanted paths. Repair: the
// coefficients double from one to the next, so each transmission is the square of the one before.
/* rooftree
[shape]
columns = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "vapour"
role = "input"
fill = "uniform"
shape = ["columns"]
[[buffer]]
name = "share"
role = "input"
fill = "uniform"
shape = [12]
[[buffer]]
name = "transmitted"
role = "output"
shape = ["columns"]
[cost]
bytes = "8 * columns"
flops = "96 * columns"
[[launch]]
kernel = "band_transmission"
grid = ["columns // 512"]
block = [256]
args = ["vapour", "share", "transmitted"]
*/
#define TERMS 12
#define THINNEST 0.002f  // absorption coefficient of the first term, in base 2

__device__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Correlated-k transmission of a spectral band, summed over four zenith angles.
__device__ float through(float vapour, const float (&share)[TERMS])
{
    const float secant[4] = {1.0f, 1.25f, 1.66f, 2.5f};
    const float amount = 1.5f + vapour;
    float sum = 0.0f;
#pragma unroll
    for (int angle = 0; angle < 4; ++angle) {
        const float path = -THINNEST * secant[angle] * amount;
        float passed = power_of_two(path);
#pragma unroll
        for (int term = 0; term < TERMS; ++term) {
            sum += share[term] * passed;
            passed = REPAIRED ? passed * passed : power_of_two(path * (2 << term));
        }
    }
    return sum;
}

extern "C" __global__ void band_transmission(
    const float2* __restrict__ vapour, const float* __restrict__ share, float2* __restrict__ transmitted)
{
    float shares[TERMS];
#pragma unroll
    for (int term = 0; term < TERMS; ++term)
        shares[term] = share[term];
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float2 v = vapour[i];
    transmitted[i] = make_float2(through(v.x, shares), through(v.y, shares));
}
