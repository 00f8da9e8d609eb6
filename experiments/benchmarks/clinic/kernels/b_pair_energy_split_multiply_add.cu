// Planted: every product and sum is rounded on its own (__fmul_rn, __fadd_rn), as a CPU without
// fused multiply-add would. Repair: fmaf.
/* rooftree
[shape]
points = 1013760
bodies = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "position"
role = "input"
shape = ["points", 4]
[[buffer]]
name = "body"
role = "input"
shape = ["bodies", 4]
[[buffer]]
name = "energy"
role = "output"
shape = ["points"]
[cost]
bytes = "20 * points"
flops = "22 * points * bodies"
[[launch]]
kernel = "pair_energy"
grid = ["points // 128"]
block = [128]
args = ["position", "body", "energy"]
*/
constexpr int BODIES = 256;

__device__ float multiply_add(float a, float b, float c)
{
#if REPAIRED
    return fmaf(a, b, c);
#else
    return __fadd_rn(__fmul_rn(a, b), c);
#endif
}

// Energy of smooth pair bonds, a polynomial of the squared distance.
extern "C" __global__ void pair_energy(
    const float4* __restrict__ position, const float4* __restrict__ body, float* __restrict__ energy)
{
    __shared__ float4 bodies[BODIES];
    for (int j = threadIdx.x; j < BODIES; j += blockDim.x)
        bodies[j] = body[j];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 p = position[i];
    float sum = 0.0f;
#pragma unroll 8
    for (int j = 0; j < BODIES; ++j) {
        const float4 b = bodies[j];
        const float dx = b.x - p.x, dy = b.y - p.y, dz = b.z - p.z;
        const float r2 = multiply_add(dx, dx, multiply_add(dy, dy, __fmul_rn(dz, dz)));
        float bond = 1e-6f;
        bond = multiply_add(bond, r2, -4e-5f);
        bond = multiply_add(bond, r2, 7e-4f);
        bond = multiply_add(bond, r2, -6e-3f);
        bond = multiply_add(bond, r2, 3e-2f);
        bond = multiply_add(bond, r2, -1e-1f);
        bond = multiply_add(bond, r2, 2e-1f);
        sum = multiply_add(b.w, bond, sum);
    }
    energy[i] = sum;
}
