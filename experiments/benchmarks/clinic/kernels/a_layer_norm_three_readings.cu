// Planted: a layer norm reads its rows three times (mean, variance, output), each reading a
// kernel's grid apart, so that all three come from device memory. Repair: a block keeps its row in
// registers and reads it once.
/* rooftree
[shape]
rows = 32768
cols = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "y"
role = "output"
shape = ["rows", "cols"]
[cost]
bytes = "8 * rows * cols"
flops = "8 * rows * cols"
[[launch]]
kernel = "layer_norm"
grid = ["rows if REPAIRED else 264"]
block = [256]
args = ["x", "y", "rows", "cols"]
*/
__device__ float block_sum(float v)
{
    __shared__ float warps[8];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    return warps[0] + warps[1] + warps[2] + warps[3] + warps[4] + warps[5] + warps[6] + warps[7];
}

extern "C" __global__ void layer_norm(const float4* __restrict__ x, float4* y, int rows, int cols)
{
    const int quads = cols / 4, t = threadIdx.x;
#if REPAIRED
    const float4* row = x + (long long)blockIdx.x * quads;
    const float4 a = row[t], b = row[t + 256];
    const float mean = block_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w) / cols;
    const float e[8] = {a.x - mean, a.y - mean, a.z - mean, a.w - mean, b.x - mean, b.y - mean,
        b.z - mean, b.w - mean};
    float squares = 0.0f;
    for (int k = 0; k < 8; ++k)
        squares += e[k] * e[k];
    const float r = rsqrtf(block_sum(squares) / cols + 1e-5f);
    float4* out = y + (long long)blockIdx.x * quads;
    out[t] = make_float4(e[0] * r, e[1] * r, e[2] * r, e[3] * r);
    out[t + 256] = make_float4(e[4] * r, e[5] * r, e[6] * r, e[7] * r);
#else
    // One pass over all of a block's rows for each of the three steps.
    __shared__ float means[128], scales[128];
    const int share = (rows + gridDim.x - 1) / gridDim.x, first = blockIdx.x * share;
    const int own = min(share, rows - first);
    for (int step = 0; step < 3; ++step)
        for (int k = 0; k < own; ++k) {
            const float4* row = x + (long long)(first + k) * quads;
            const float4 a = row[t], b = row[t + 256];
            if (step == 0) {
                const float sum = block_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
                means[k] = sum / cols;
                continue;
            }
            const float m = means[k];
            const float e[8] = {a.x - m, a.y - m, a.z - m, a.w - m, b.x - m, b.y - m, b.z - m,
                b.w - m};
            if (step == 1) {
                float squares = 0.0f;
                for (int i = 0; i < 8; ++i)
                    squares += e[i] * e[i];
                scales[k] = rsqrtf(block_sum(squares) / cols + 1e-5f);
            } else {
                const float r = scales[k];
                float4* out = y + (long long)(first + k) * quads;
                out[t] = make_float4(e[0] * r, e[1] * r, e[2] * r, e[3] * r);
                out[t + 256] = make_float4(e[4] * r, e[5] * r, e[6] * r, e[7] * r);
            }
        }
#endif
}
