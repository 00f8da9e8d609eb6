// Planted: products and sums rounded one by one (as __fmul_rn and __fadd_rn demand), two instructions
// per term. Repair: fused multiply-adds.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
fill = "uniform"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "192 * n"
[[launch]]
kernel = "activation"
grid = ["n / 1024"]
block = [256]
args = ["x", "y"]
*/
__device__ float series(float x)
{
    float sum = 0.125f;
#pragma unroll
    for (int term = 96; term > 0; --term) {
        const float coefficient = 1.0f / (term * (term + 1.5f));
#if REPAIRED
        sum = fmaf(sum, x, coefficient);
#else
        sum = __fadd_rn(__fmul_rn(sum, x), coefficient);
#endif
    }
    return sum;
}

extern "C" __global__ void activation(const float4* x, float4* y)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = x[i];
    y[i] = make_float4(series(v.x), series(v.y), series(v.z), series(v.w));
}
