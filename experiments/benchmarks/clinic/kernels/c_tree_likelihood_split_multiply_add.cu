// Planted: the products with the substitution matrices round product and sum one by one. Repair: fused
// multiply-adds.
/* rooftree
[shape]
sites = 4194304
branches = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "tip"
role = "input"
fill = "uniform"
shape = ["sites", 4]
[[buffer]]
name = "substitution"
role = "input"
fill = "uniform"
shape = ["branches", 4, 4]
[[buffer]]
name = "root"
role = "output"
shape = ["sites", 4]
[cost]
bytes = "32 * sites"
flops = "32 * sites * branches"
math = "fp32"
[[launch]]
kernel = "likelihood"
grid = ["sites / 1024"]
block = [256]
args = ["tip", "substitution", "root"]
*/
__device__ float multiply_add(float a, float b, float c)
{
#if REPAIRED
    return fmaf(a, b, c);
#else
    return __fadd_rn(__fmul_rn(a, b), c);
#endif
}

__device__ float dot(float4 m, float4 v)
{
    return multiply_add(m.w, v.w, multiply_add(m.z, v.z, multiply_add(m.y, v.y, m.x * v.x)));
}

// Nucleotide likelihoods of a site, carried through the branches from a tip to the root.
extern "C" __global__ void likelihood(const float4* tip, const float4* substitution, float4* root)
{
    __shared__ float4 matrix[64][4];
    const int first = blockIdx.x * 1024 + threadIdx.x;
    matrix[threadIdx.x / 4][threadIdx.x % 4] = substitution[threadIdx.x];
    float4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        v[k] = tip[first + k * 256];
    __syncthreads();
#pragma unroll 4
    for (int branch = 0; branch < 64; ++branch) {
        const float4 a = matrix[branch][0], c = matrix[branch][1];
        const float4 g = matrix[branch][2], t = matrix[branch][3];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            v[k] = make_float4(dot(a, v[k]), dot(c, v[k]), dot(g, v[k]), dot(t, v[k]));
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
        root[first + k * 256] = v[k];
}
