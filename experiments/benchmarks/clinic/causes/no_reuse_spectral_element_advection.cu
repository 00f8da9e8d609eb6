// Planted: each node's thread fetches 24 neighbours and 24 matrix entries from L1. Repair: a thread
// holds a column of eight nodes and its rows of the matrix in registers, the element in shared memory.
/* rooftree
[shape]
elements = 65536
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "field"
role = "input"
shape = ["elements", 8, 8, 8]
[[buffer]]
name = "derivative"
role = "input"
shape = [8, 8]
[[buffer]]
name = "rate"
role = "output"
shape = ["elements", 8, 8, 8]
[cost]
bytes = "8 * 512 * elements"
flops = "48 * 512 * elements"
[[launch]]
kernel = "advect"
grid = ["elements // 4 if REPAIRED else elements"]
block = [8, 8, "4 if REPAIRED else 8"]
args = ["field", "derivative", "rate"]
*/
extern "C" __global__ void advect(const float* __restrict__ field,
    const float* __restrict__ derivative, float* rate)
{
    const int i = threadIdx.x, j = threadIdx.y;
#if REPAIRED
    __shared__ float4 tile[4][8][8][2];
    const int first = (blockIdx.x * 4 + threadIdx.z) * 512 + j * 8 + i;
    float* mine = (float*)tile[threadIdx.z];
    float column[8], di[8], dj[8];
#pragma unroll
    for (int m = 0; m < 8; ++m) {
        column[m] = field[first + m * 64];
        mine[m * 64 + j * 8 + i] = column[m];
        di[m] = derivative[i * 8 + m], dj[m] = derivative[j * 8 + m];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float4 a = tile[threadIdx.z][k][j][0], b = tile[threadIdx.z][k][j][1];
        float x = di[0] * a.x + di[1] * a.y + di[2] * a.z + di[3] * a.w;
        x += di[4] * b.x + di[5] * b.y + di[6] * b.z + di[7] * b.w;
        const float4 c = ((const float4*)derivative)[k * 2], d = ((const float4*)derivative)[k * 2 + 1];
        float z = c.x * column[0] + c.y * column[1] + c.z * column[2] + c.w * column[3];
        z += d.x * column[4] + d.y * column[5] + d.z * column[6] + d.w * column[7];
        float y = 0.0f;
#pragma unroll
        for (int m = 0; m < 8; ++m) y += dj[m] * mine[k * 64 + m * 8 + i];
        rate[first + k * 64] = -0.8f * x - 0.5f * y - 0.3f * z;
    }
#else
    const int k = threadIdx.z;
    const float* element = field + blockIdx.x * 512;
    float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
    for (int m = 0; m < 8; ++m) {
        x += derivative[i * 8 + m] * element[k * 64 + j * 8 + m];
        y += derivative[j * 8 + m] * element[k * 64 + m * 8 + i];
        z += derivative[k * 8 + m] * element[m * 64 + j * 8 + i];
    }
    rate[blockIdx.x * 512 + k * 64 + j * 8 + i] = -0.8f * x - 0.5f * y - 0.3f * z;
#endif
}
