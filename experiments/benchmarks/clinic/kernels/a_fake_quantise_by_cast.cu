// Planted: fake quantisation at 16 bit widths, each rounding by a cast to int and back. Repair: adding
// and subtracting 1.5 * 2^23 rounds in the fp32 pipe.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "weights"
role = "input"
shape = ["n"]
[[buffer]]
name = "error"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "64 * n"
[[launch]]
kernel = "quantisation_error"
grid = ["n / 1024"]
block = [256]
args = ["weights", "error"]
*/
__device__ float rounded(float v)
{
#if REPAIRED
    return __fsub_rn(__fadd_rn(v, 12582912.0f), 12582912.0f);
#else
    return (float)__float2int_rn(v);
#endif
}

__device__ float squared_error(float w)
{
    float sum = 0.0f;
#pragma unroll
    for (int bits = 1; bits <= 16; ++bits) {
        const float step = 1.0f / (1 << bits);
        const float off = rounded(w * (1 << bits)) * step - w;
        sum += off * off;
    }
    return sum;
}

extern "C" __global__ void quantisation_error(const float4* weights, float4* error)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = weights[i];
    error[i] = make_float4(squared_error(v.x), squared_error(v.y), squared_error(v.z),
        squared_error(v.w));
}
