// Planted: each thread filters its own frame of a shared tile whose rows are 32 words long, so the 32
// lanes always meet in one bank. Repair: one word of padding per row.
/* rooftree
[shape]
frames = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "samples"
role = "input"
shape = ["frames", 32]
[[buffer]]
name = "filtered"
role = "output"
shape = ["frames", 32]
[cost]
bytes = "256 * frames"
flops = "64 * frames"
[[launch]]
kernel = "de_emphasis"
grid = ["frames // 128"]
block = [128]
args = ["samples", "filtered"]
*/
extern "C" __global__ void de_emphasis(const float* samples, float* filtered)
{
    __shared__ float tile[128][32 + REPAIRED];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const size_t base = (size_t)blockIdx.x * 128 * 32;
#pragma unroll
    for (int row = 0; row < 128; row += 4)
        tile[row + warp][lane] = samples[base + (row + warp) * 32 + lane];
    __syncthreads();

    float state = 0.0f;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        state = fmaf(0.97f, state, tile[t][i]);
        tile[t][i] = state;
    }
    __syncthreads();

#pragma unroll
    for (int row = 0; row < 128; row += 4)
        filtered[base + (row + warp) * 32 + lane] = tile[row + warp][lane];
}
