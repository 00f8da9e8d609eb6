// Planted: each lane scans its own row of a shared tile whose rows are 32 words apart, so that all
// lanes hit one bank. Repair: one word of padding per row.
/* rooftree
[shape]
n = 50331648
segment = 32
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "sums"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "n"
[[launch]]
kernel = "scan_segments"
grid = ["n // 4096"]
block = [128]
shared = "4 * 4 * 32 * (segment + REPAIRED)"
args = ["x", "sums", "segment", "segment + REPAIRED"]
*/

// Running sums within segments of 32 values. Each warp owns a tile of 32 segments.
extern "C" __global__ void scan_segments(
    const float4* __restrict__ x, float4* __restrict__ sums, int segment, int pitch)
{
    extern __shared__ float tiles[];
    float* tile = tiles + threadIdx.x / 32 * 32 * pitch;
    const int lane = threadIdx.x % 32, row = lane / 8, column = lane % 8 * 4;
    const int first = (blockIdx.x * 4 + threadIdx.x / 32) * 256 + lane;
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        v[k] = x[first + k * 32];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        float* to = tile + (k * 4 + row) * pitch + column;
        to[0] = v[k].x;
        to[1] = v[k].y;
        to[2] = v[k].z;
        to[3] = v[k].w;
    }
    __syncwarp();
    float* mine = tile + lane * pitch;
    float sum = 0.0f;
#pragma unroll 8
    for (int k = 0; k < segment; ++k)
        mine[k] = sum += mine[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float* from = tile + (k * 4 + row) * pitch + column;
        sums[first + k * 32] = make_float4(from[0], from[1], from[2], from[3]);
    }
}
