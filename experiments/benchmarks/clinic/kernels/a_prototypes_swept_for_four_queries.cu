// Planted: a table of 256 MB is swept for four queries at a time, and is gone from L2 before the next
// four. Repair: each thread holds 16 prototypes in registers and meets all queries with them.
/* rooftree
[shape]
queries = 64
table = 16777216
blocks = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "prototypes"
role = "input"
shape = ["table", 4]
[[buffer]]
name = "query"
role = "input"
shape = ["queries", 4]
[[buffer]]
name = "nearest"
role = "output"
shape = ["queries", "blocks"]
[cost]
bytes = "16 * table"
flops = "8 * queries * table"
[[launch]]
kernel = "distances"
grid = ["blocks", "1 if REPAIRED else queries // 4"]
block = [256]
args = ["prototypes", "query", "nearest", "queries"]
*/
__device__ float distance(float4 p, float4 q)
{
    const float a = p.x - q.x, b = p.y - q.y, c = p.z - q.z, d = p.w - q.w;
    return a * a + b * b + c * c + d * d;
}

__device__ float least_of_warp(float v)
{
    for (int d = 16; d > 0; d /= 2)
        v = fminf(v, __shfl_down_sync(~0u, v, d));
    return v;
}

extern "C" __global__ void distances(const float4* __restrict__ prototypes,
    const float4* __restrict__ query, float* nearest, int queries)
{
    __shared__ int least[64];
    const int t = threadIdx.x, first = blockIdx.y * 4, end = REPAIRED ? queries : first + 4;
    const float4* mine = prototypes + blockIdx.x * 4096 + t;
    if (t < 64)
        least[t] = 0x7f800000;
    __syncthreads();
    float4 held[16];
#pragma unroll
    for (int k = 0; k < 16; ++k)
        held[k] = mine[k * 256];
    for (int q = first; q < end; ++q) {
        const float4 wanted = query[q];
        float here = 1e30f;
#pragma unroll
        for (int k = 0; k < 16; ++k)
            here = fminf(here, distance(held[k], wanted));
        here = least_of_warp(here);
        if (t % 32 == 0)
            atomicMin(&least[q], __float_as_int(here));
    }
    __syncthreads();
    for (int q = first + t; q < end; q += 256)
        nearest[q * gridDim.x + blockIdx.x] = __int_as_float(least[q]);
}
