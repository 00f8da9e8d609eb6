// Planted: plane after plane is computed, and the nine input planes of 12 MB that one output plane
// needs do not stay in the L2 cache. Repair: a thread marches along z with the nine in registers.
/* rooftree
[shape]
plane = 3145728
nz = 22
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "u"
role = "input"
shape = ["nz", "plane"]
[[buffer]]
name = "d2u"
role = "output"
shape = ["nz - 8", "plane"]
[cost]
bytes = "4 * plane * (2 * nz - 8)"
flops = "13 * plane * (nz - 8)"
[[launch]]
kernel = "second_derivative_z"
grid = ["plane // 4 // 256", "1 if REPAIRED else nz - 8"]
block = [256]
args = ["u", "d2u", "plane // 4"]
*/
__device__ void add(float4& sum, float weight, float4 a, float4 b)
{
    sum.x += weight * (a.x + b.x);
    sum.y += weight * (a.y + b.y);
    sum.z += weight * (a.z + b.z);
    sum.w += weight * (a.w + b.w);
}

__device__ float4 derivative(const float4 (&w)[9])  // eighth order, w[4] is the centre
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    add(sum, -205.0f / 144, w[4], w[4]);
    add(sum, 8.0f / 5, w[3], w[5]);
    add(sum, -1.0f / 5, w[2], w[6]);
    add(sum, 8.0f / 315, w[1], w[7]);
    add(sum, -1.0f / 560, w[0], w[8]);
    return sum;
}

extern "C" __global__ void second_derivative_z(
    const float4* __restrict__ u, float4* __restrict__ d2u, int plane)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float4 w[9];
#if REPAIRED
    constexpr int PLANES_OUT = 14;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        w[k + 1] = u[column + k * plane];
#pragma unroll
    for (int z = 0; z < PLANES_OUT; ++z) {
#pragma unroll
        for (int k = 0; k < 8; ++k)
            w[k] = w[k + 1];
        w[8] = u[column + (z + 8) * plane];
        d2u[column + z * plane] = derivative(w);
    }
#else
    const int z = blockIdx.y;
#pragma unroll
    for (int k = 0; k < 9; ++k)
        w[k] = u[column + (z + k) * plane];
    d2u[column + z * plane] = derivative(w);
#endif
}
