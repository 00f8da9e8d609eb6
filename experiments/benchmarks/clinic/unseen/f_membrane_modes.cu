// Planted: the series of 16 terms is a loop that is not unrolled: a constant, a counter and a branch for
// every multiply-add. Repair: unrolled, so that the coefficients become operands.
/* rooftree
[shape]
points = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "radius"
role = "input"
shape = ["points"]
fill = "uniform"
[[buffer]]
name = "height"
role = "output"
shape = ["points"]
[cost]
bytes = "8 * points"
flops = "105 * points"
[[launch]]
kernel = "membrane"
grid = ["points // 256"]
block = [256]
args = ["radius", "height"]
*/
#if REPAIRED
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("unroll 1")
#endif

constexpr int TERMS = 16, MODES = 3;

// J0(x) = sum of (-1)^k (x^2 / 4)^k / k!^2
__constant__ float series[TERMS] = { 1.0f, -1.0f, 0.25f, -2.77777778e-2f, 1.73611111e-3f, -6.94444444e-5f,
    1.92901235e-6f, -3.93675989e-8f, 6.15118733e-10f, -7.59405843e-12f, 7.59405843e-14f, -6.27608135e-16f,
    4.35838983e-18f, -2.57892890e-20f, 1.31577999e-22f, -5.84791105e-25f };
__constant__ float zeros[MODES] = { 2.40482556f, 5.52007811f, 8.65372791f };
__constant__ float amplitude[MODES] = { 1.0f, 0.35f, -0.12f };

// Height of a drum's membrane: its three lowest symmetric modes.
extern "C" __global__ void __launch_bounds__(256) membrane(const float* __restrict__ radius,
    float* __restrict__ height)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float r = radius[i];
    float sum = 0.0f;
UNROLL
    for (int mode = 0; mode < MODES; ++mode) {
        const float half = 0.5f * zeros[mode] * r, z = half * half;
        float j0 = 0.0f;
UNROLL
        for (int k = TERMS - 1; k >= 0; --k)
            j0 = fmaf(j0, z, series[k]);
        sum = fmaf(amplitude[mode], j0, sum);
    }
    height[i] = sum;
}
