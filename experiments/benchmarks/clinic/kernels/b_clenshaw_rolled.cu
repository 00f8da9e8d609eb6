// Planted: a Chebyshev sum whose loop does one short term per turn, counter, compare, branch and
// register moves included. Repair: 16 terms per turn.
/* rooftree
[shape]
n = 16777216
terms = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
fill = "uniform"
[[buffer]]
name = "coefficients"
role = "input"
shape = ["terms"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "3 * terms * n"
[[launch]]
kernel = "chebyshev_sum"
grid = ["n // 512"]
block = [256]
args = ["x", "coefficients", "y"]
*/
constexpr int TERMS = 64, UNROLL = REPAIRED ? 16 : 1;

extern "C" __global__ void chebyshev_sum(
    const float2* __restrict__ x, const float* __restrict__ coefficients, float2* __restrict__ y)
{
    __shared__ __align__(16) float c[TERMS];
    if (threadIdx.x < TERMS)
        c[threadIdx.x] = coefficients[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float2 point = x[i];
    const float u = 2.0f * point.x, v = 2.0f * point.y;
    float a = 0.0f, a1 = 0.0f, b = 0.0f, b1 = 0.0f;
#pragma unroll UNROLL
    for (int k = 0; k < TERMS; ++k) {
        const float a2 = a1, b2 = b1;
        a1 = a;
        b1 = b;
        a = u * a1 + (c[k] - a2);
        b = v * b1 + (c[k] - b2);
    }
    y[i] = make_float2(a - point.x * a1, b - point.y * b1);
}
