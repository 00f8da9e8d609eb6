// Planted: every multiply-add loads one coefficient, four bytes that all lanes share, from global
// memory: the load/store queue is full of tiny loads. Repair: four coefficients per load, each used
// for four points.
/* rooftree
[shape]
n = 16777216
terms = 128
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
flops = "2 * terms * n"
[[launch]]
kernel = "polynomial"
grid = ["n // 1024 if REPAIRED else n // 256"]
block = [256]
args = ["x", "coefficients", "y"]
*/
constexpr int TERMS = 128;

#if REPAIRED
__device__ void horner(float4& sum, float4 x, float c)
{
    sum.x = sum.x * x.x + c;
    sum.y = sum.y * x.y + c;
    sum.z = sum.z * x.z + c;
    sum.w = sum.w * x.w + c;
}

extern "C" __global__ void polynomial(
    const float4* __restrict__ x, const float4* __restrict__ coefficients, float4* __restrict__ y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 point = x[i];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int k = 0; k < TERMS / 4; ++k) {
        const float4 c = coefficients[k];
        horner(sum, point, c.x);
        horner(sum, point, c.y);
        horner(sum, point, c.z);
        horner(sum, point, c.w);
    }
    y[i] = sum;
}
#else
extern "C" __global__ void polynomial(
    const float* __restrict__ x, const float* __restrict__ coefficients, float* __restrict__ y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float point = x[i];
    float sum = 0.0f;
#pragma unroll 16
    for (int k = 0; k < TERMS; ++k)
        sum = sum * point + coefficients[k];
    y[i] = sum;
}
#endif
