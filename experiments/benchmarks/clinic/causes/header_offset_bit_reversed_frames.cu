// Planted: windowed frames of 32 samples are written in bit-reversed order into a file image whose header
// has 20 bytes: each frame's store ends in two half-written sectors, which DRAM must read, merge and
// write. Repair: the header is padded to 128 bytes, and frames are whole lines.
/* rooftree
[shape]
frames = 2097152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "signal"
role = "input"
shape = ["frames", 32]
[[buffer]]
name = "window"
role = "input"
shape = [32]
[[buffer]]
name = "image"
role = "output"
shape = ["32 + 32 * frames"]
[cost]
bytes = "256 * frames"
flops = "32 * frames"
[[launch]]
kernel = "reorder_frames"
grid = ["frames // 64"]
block = [256]
args = ["signal", "window", "image"]
*/
constexpr int BITS = 21, FRAME = 32, PER_WARP = 8, HEADER = REPAIRED ? 32 : 5;

extern "C" __global__ void __launch_bounds__(256) reorder_frames(
    const float* __restrict__ signal, const float* __restrict__ window, float* __restrict__ image)
{
    const int lane = threadIdx.x % 32, warp = blockIdx.x * 8 + threadIdx.x / 32;
    const float weight = window[lane];
    float sample[PER_WARP];
#pragma unroll
    for (int k = 0; k < PER_WARP; ++k)
        sample[k] = signal[(warp * PER_WARP + k) * FRAME + lane];
#pragma unroll
    for (int k = 0; k < PER_WARP; ++k) {
        const unsigned place = __brev(warp * PER_WARP + k) >> (32 - BITS);
        image[HEADER + place * FRAME + lane] = sample[k] * weight;
    }
}
