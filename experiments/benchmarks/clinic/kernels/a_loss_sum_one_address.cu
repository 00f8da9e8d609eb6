// Planted: every element of the loss is added to one address by an atomic. Repair: warps and blocks
// add up first, one atomic per block.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "p"
role = "input"
shape = ["n"]
[[buffer]]
name = "q"
role = "input"
shape = ["n"]
[[buffer]]
name = "loss"
role = "output"
shape = [1]
[cost]
bytes = "8 * n"
flops = "3 * n"
[[launch]]
memset = "loss"
[[launch]]
kernel = "square_error"
grid = ["n / 1024"]
block = [256]
args = ["p", "q", "loss"]
*/
extern "C" __global__ void square_error(const float4* p, const float4* q, float* loss)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 a = p[i], b = q[i];
    const float d[4] = {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w};
#if REPAIRED
    __shared__ float warps[8];
    float sum = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3];
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_down_sync(~0u, sum, lanes);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(loss, warps[0] + warps[1] + warps[2] + warps[3] + warps[4] + warps[5] + warps[6]
            + warps[7]);
#else
    for (int k = 0; k < 4; ++k)
        atomicAdd(loss, d[k] * d[k]);
#endif
}
