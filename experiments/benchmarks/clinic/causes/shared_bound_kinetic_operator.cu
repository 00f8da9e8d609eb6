// Planted: the kinetic energy of wave packets on 16^3 sinc grids, point by point: each multiply-add reads the packet
// and the matrix from shared memory. Repair: a thread holds whole lines of 16 points in registers.
/* rooftree
[shape]
packets = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "psi"
role = "input"
shape = ["packets", 16, 16, 16]
[[buffer]]
name = "out"
role = "output"
shape = ["packets", 16, 16, 16]
[cost]
bytes = "32768 * packets"
flops = "393216 * packets"
[[launch]]
kernel = "kinetic"
grid = ["packets"]
block = [256]
args = ["psi", "out"]
*/
// Colbert and Miller's matrix element for points `apart` steps apart.
__device__ constexpr float element(int apart)
{
    return apart ? (apart % 2 ? -1.0f : 1.0f) / (apart * apart) : 1.644934f;
}

__device__ void apply(const float (&line)[16], float (&sum)[16])
{
#pragma unroll
    for (int k = 0; k < 256; ++k)
        sum[k / 16] += element(k / 16 > k % 16 ? k / 16 - k % 16 : k % 16 - k / 16) * line[k % 16];
}
// Where a point lies in shared memory: lines in any direction are free of bank conflicts.
__device__ int place(int x, int y, int z) { return z * 272 + y * 16 + (x ^ y); }

extern "C" __global__ void __launch_bounds__(256) kinetic(const float* __restrict__ psi, float* __restrict__ out)
{
    const int t = threadIdx.x, a = t % 16, b = t / 16;
    psi += blockIdx.x * 4096 + t;
    out += blockIdx.x * 4096 + t;
#if REPAIRED
    __shared__ float grid[4352], rest[4352];
    float line[16], along_z[16] = {}, sum[16] = {};
    for (int z = 0; z < 16; ++z) grid[place(a, b, z)] = line[z] = psi[z * 256];
    apply(line, along_z);
    __syncthreads();
    for (int y = 0; y < 16; ++y) line[y] = grid[place(a, y, b)];
    apply(line, sum);
    for (int y = 0; y < 16; ++y) rest[place(a, y, b)] = sum[y];
    __syncthreads();
    for (int x = 0; x < 16; ++x) line[x] = grid[place(x, a, b)], sum[x] = rest[place(x, a, b)];
    apply(line, sum);
    for (int x = 0; x < 16; ++x) rest[place(x, a, b)] = sum[x];
    __syncthreads();
    for (int z = 0; z < 16; ++z) out[z * 256] = along_z[z] + rest[place(a, b, z)];
#else
    __shared__ float grid[16][16][16], matrix[32];
    for (int z = 0; z < 16; ++z) grid[z][b][a] = psi[z * 256];
    if (t < 31) matrix[t] = element(abs(t - 15));
    __syncthreads();
#pragma unroll 1
    for (int z = 0; z < 16; ++z) {
        float sum = 0.0f;
#pragma unroll 4
        for (int k = 0; k < 16; ++k)
            sum += matrix[15 + a - k] * grid[z][b][k] + matrix[15 + b - k] * grid[z][k][a]
                + matrix[15 + z - k] * grid[k][b][a];
        out[z * 256] = sum;
    }
#endif
}
