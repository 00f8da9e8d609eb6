// Planted: eight blocks, one per head, for a device of over a hundred multiprocessors. Repair: the
// rows of each head are dealt out to 64 blocks.
/* rooftree
[shape]
heads = 8
rows = 4096
width = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "scores"
role = "input"
shape = ["heads", "rows", "width"]
[[buffer]]
name = "out"
role = "output"
shape = ["heads", "rows", "width"]
[cost]
bytes = "8 * heads * rows * width"
flops = "4 * heads * rows * width"
[[launch]]
kernel = "scale_scores"
grid = ["64 if REPAIRED else 1", "heads"]
block = [256]
args = ["scores", "out", "rows", "width"]
*/
extern "C" __global__ void scale_scores(const float4* __restrict__ scores, float4* out, int rows,
    int width)
{
    const int head = blockIdx.y * rows * width / 4;
#pragma unroll 4
    for (int i = blockIdx.x * 256 + threadIdx.x; i < rows * width / 4; i += gridDim.x * 256) {
        const float4 v = scores[head + i];
        out[head + i] = make_float4(v.x * 0.125f, v.y * 0.125f, v.z * 0.125f, v.w * 0.125f);
    }
}
