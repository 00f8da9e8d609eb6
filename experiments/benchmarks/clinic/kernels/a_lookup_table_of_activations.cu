// Planted: an activation is interpolated from a table in shared memory: four look-ups per element
// in each of 16 layers. Repair: the function itself, a few multiply-adds in registers.
/* rooftree
[shape]
n = 8388608
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
flops = "128 * n"
[[launch]]
kernel = "activate"
grid = ["n // 2048"]
block = [256]
args = ["x", "y"]
*/
__shared__ float table[4][288];

__device__ float through(float v)
{
#pragma unroll 4
    for (int layer = 0; layer < 16; ++layer) {
#if REPAIRED
        const float square = v * v;
        v = v * (0.98f - square * (0.16f - square * 0.02f));
#else
        // Lanes walk the table side by side: no bank conflicts, just very many reads.
        const int at = ((__float_as_int(v) >> 22) & 1) + threadIdx.x + layer;
        v = v * table[0][at] - table[1][at] + v * table[2][at] + table[3][at];
#endif
    }
    return v;
}

extern "C" __global__ void activate(const float4* x, float4* y)
{
    for (int at = threadIdx.x; at < 288; at += 256)
        for (int k = 0; k < 4; ++k)
            table[k][at] = 0.1f * k + at * 1e-3f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int i = blockIdx.x * 512 + k * 256 + threadIdx.x;
        const float4 v = x[i];
        y[i] = make_float4(through(v.x), through(v.y), through(v.z), through(v.w));
    }
}
