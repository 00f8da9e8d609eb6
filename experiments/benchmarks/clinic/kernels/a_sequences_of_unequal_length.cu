// Planted: one block per sequence, but one sequence in 512 is 800 times longer than the rest:
// at the end a few blocks run alone. Repair: sequences are cut into pieces of equal length.
/* rooftree
[shape]
sequences = 4096
longest = 2621440
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["longest * 8 + 4088 * 1280"]
[[buffer]]
name = "y"
role = "output"
shape = ["65536"]
[cost]
bytes = "4 * (8 * longest + 4088 * 1280)"
flops = "8 * longest + 4088 * 1280"
[[launch]]
kernel = "sequence_sums"
grid = ["20472 if REPAIRED else 4096"]
block = [256]
args = ["x", "y", "longest"]
*/
extern "C" __global__ void sequence_sums(const float4* __restrict__ x, float* y, int longest)
{
#if REPAIRED
    const int first = blockIdx.x * 1280, length = 1280;
#else
    const int block = blockIdx.x, before = (block + 511) / 512;
    const int length = block % 512 == 0 ? longest : 1280;
    const int first = before * longest + (block - before) * 1280;
#endif
    __shared__ float warps[8];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length / 4; i += 256) {
        const float4 v = x[first / 4 + i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3] + warps[4] + warps[5] + warps[6]
            + warps[7];
}
