// Planted: each site divides its flat index by run-time extents, seven divisions and remainders for
// five loads. Repair: the launch grid names y and z; wrapping is a comparison.
/* rooftree
[shape]
nx = 512
ny = 256
nz = 320
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "u"
role = "input"
shape = ["nz", "ny", "nx"]
[[buffer]]
name = "laplacian"
role = "output"
shape = ["nz", "ny", "nx"]
[cost]
bytes = "8 * nx * ny * nz"
flops = "5 * nx * ny * nz"
[[launch]]
kernel = "transverse_laplacian"
grid = ["1 if REPAIRED else nx * ny * nz // 256", "ny if REPAIRED else 1", "nz if REPAIRED else 1"]
block = ["nx // 4 if REPAIRED else 256"]
args = ["u", "laplacian", "nx", "ny", "nz"]
*/

// Second differences along y and z on a periodic lattice.
#if REPAIRED
extern "C" __global__ void transverse_laplacian(
    const float4* __restrict__ u, float4* __restrict__ laplacian, int nx, int ny, int nz)
{
    const int x = threadIdx.x, y = blockIdx.y, z = blockIdx.z, row = nx / 4;
    const float4 a = u[(z * ny + (y + 1 == ny ? 0 : y + 1)) * row + x];
    const float4 b = u[(z * ny + (y == 0 ? ny - 1 : y - 1)) * row + x];
    const float4 c = u[((z + 1 == nz ? 0 : z + 1) * ny + y) * row + x];
    const float4 d = u[((z == 0 ? nz - 1 : z - 1) * ny + y) * row + x];
    const float4 e = u[(z * ny + y) * row + x];
    laplacian[(z * ny + y) * row + x] = make_float4(
        a.x + b.x + c.x + d.x - 4.0f * e.x, a.y + b.y + c.y + d.y - 4.0f * e.y,
        a.z + b.z + c.z + d.z - 4.0f * e.z, a.w + b.w + c.w + d.w - 4.0f * e.w);
}
#else
extern "C" __global__ void transverse_laplacian(
    const float* __restrict__ u, float* __restrict__ laplacian, int nx, int ny, int nz)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    const float a = u[(z * ny + (y + 1) % ny) * nx + x];
    const float b = u[(z * ny + (y + ny - 1) % ny) * nx + x];
    const float c = u[((z + 1) % nz * ny + y) * nx + x];
    const float d = u[((z + nz - 1) % nz * ny + y) * nx + x];
    laplacian[i] = a + b + c + d - 4.0f * u[i];
}
#endif
