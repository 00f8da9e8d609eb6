// Planted: a sine and a cosine from the special function unit for each of 64 harmonics. Repair: one
// of each, then rotation from harmonic to harmonic by multiply-adds.
/* rooftree
[shape]
n = 8388608
harmonics = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "phase"
role = "input"
shape = ["n"]
fill = "uniform"
[[buffer]]
name = "coefficients"
role = "input"
shape = ["harmonics", 2]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "10 * harmonics * n"
[[launch]]
kernel = "fourier_series"
grid = ["n // 1024"]
block = [256]
args = ["phase", "coefficients", "y"]
*/
constexpr int HARMONICS = 64;

struct Point {
    float phase, c1, s1, c = 1.0f, s = 0.0f, sum = 0.0f;
    __device__ Point(float phase) : phase(phase) { __sincosf(phase, &s1, &c1); }
    __device__ void add(int harmonic, float a, float b)
    {
#if REPAIRED
        const float turned = c * c1 - s * s1;
        s = s * c1 + c * s1;
        c = turned;
#else
        __sincosf(phase * harmonic, &s, &c);
#endif
        sum += a * c;
        sum += b * s;
    }
};

extern "C" __global__ void fourier_series(
    const float4* __restrict__ phase, const float4* __restrict__ coefficients, float4* __restrict__ y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 v = phase[i];
    Point p[4] = {v.x, v.y, v.z, v.w};
#pragma unroll 4
    for (int k = 0; k < HARMONICS / 2; ++k) {
        const float4 c = coefficients[k];  // of two harmonics
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            p[j].add(2 * k + 1, c.x, c.y);
            p[j].add(2 * k + 2, c.z, c.w);
        }
    }
    y[i] = make_float4(p[0].sum, p[1].sum, p[2].sum, p[3].sum);
}
