// Planted: a lattice Boltzmann collision on cells of nine populations each, lanes 36 bytes apart in loads and stores.
// Repair: an array for each of the nine directions.
/* rooftree
[shape]
cells = 8388608
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "before"
role = "input"
shape = ["9 * cells"]
[[buffer]]
name = "after"
role = "output"
shape = ["9 * cells"]
[cost]
bytes = "72 * cells"
flops = "110 * cells"
[[launch]]
kernel = "collide"
grid = ["cells // 256"]
block = [256]
args = ["before", "after", "cells", { value = 0.8, type = "float32" }]
*/
#if REPAIRED
#define AT(q) ((q) * cells + cell)
#else
#define AT(q) (cell * 9 + (q))
#endif

// Incompressible D2Q9 with one relaxation rate.
extern "C" __global__ void collide(const float* __restrict__ before, float* __restrict__ after, int cells, float rate)
{
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[9] = {4 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 36.0f, 1 / 36.0f, 1 / 36.0f, 1 / 36.0f};
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    float f[9], density = 0.0f, ux = 0.0f, uy = 0.0f;
#pragma unroll
    for (int q = 0; q < 9; ++q) {
        f[q] = before[AT(q)];
        density += f[q];
        ux += cx[q] * f[q];
        uy += cy[q] * f[q];
    }
    const float rest = density - 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < 9; ++q) {
        const float along = cx[q] * ux + cy[q] * uy;
        const float balance = weight[q] * (rest + along * (3.0f + 4.5f * along));
        after[AT(q)] = f[q] + rate * (balance - f[q]);
    }
}
