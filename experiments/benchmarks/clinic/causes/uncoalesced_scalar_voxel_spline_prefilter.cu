// Planted: cubic B-spline coefficients of every voxel's time course, stored voxel by voxel, so that lanes lie 128 bytes
// apart. Repair: volumes stored one after the other, so that lanes read and write neighbouring voxels.
/* rooftree
[shape]
voxels = 2097152
volumes = 32
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "signal"
role = "input"
shape = ["voxels * volumes"]
[[buffer]]
name = "coefficient"
role = "output"
shape = ["voxels * volumes"]
[cost]
bytes = "8 * voxels * volumes"
flops = "5 * voxels * volumes"
[[launch]]
kernel = "spline_prefilter"
grid = ["voxels // 128"]
block = [128]
args = ["signal", "coefficient", "voxels"]
*/
constexpr int VOLUMES = 32;
constexpr float POLE = -0.26794919f;  // sqrt(3) - 2
#if REPAIRED
#define AT(t) ((t) * voxels + voxel)
#else
#define AT(t) (voxel * VOLUMES + (t))
#endif

extern "C" __global__ void spline_prefilter(const float* __restrict__ signal, float* __restrict__ coefficient, int voxels)
{
    const int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    float c[VOLUMES];
#pragma unroll
    for (int t = 0; t < VOLUMES; ++t)
        c[t] = 6.0f * signal[AT(t)];
    c[0] *= 1.0f / (1.0f - POLE);  // as if the first volume had been there for ever
#pragma unroll
    for (int t = 1; t < VOLUMES; ++t)
        c[t] = fmaf(POLE, c[t - 1], c[t]);
    c[VOLUMES - 1] *= POLE / (POLE - 1.0f);
#pragma unroll
    for (int t = VOLUMES - 2; t >= 0; --t)
        c[t] = POLE * (c[t + 1] - c[t]);
#pragma unroll
    for (int t = 0; t < VOLUMES; ++t)
        coefficient[AT(t)] = c[t];
}
