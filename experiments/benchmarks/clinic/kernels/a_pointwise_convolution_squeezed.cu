// Planted: launch bounds that allow 32 registers where 48 sums are kept, so that they spill. Repair:
// bounds that fit the block.
/* rooftree
[shape]
pixels = 1048576
channels = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["channels", "pixels"]
[[buffer]]
name = "w"
role = "input"
shape = ["channels", 48]
[[buffer]]
name = "y"
role = "output"
shape = [48, "pixels"]
[cost]
bytes = "4 * (channels + 48) * pixels"
flops = "2 * 48 * channels * pixels"
[[launch]]
kernel = "pointwise"
grid = ["pixels / 256"]
block = [256]
args = ["x", "w", "y", "channels", "pixels"]
*/
#if REPAIRED
#define BOUNDS __launch_bounds__(256)
#else
#define BOUNDS __launch_bounds__(1024, 2)
#endif

extern "C" __global__ void BOUNDS pointwise(const float* __restrict__ x,
    const float* __restrict__ w, float* __restrict__ y, int channels, int pixels)
{
    const int p = blockIdx.x * 256 + threadIdx.x;
    float sums[48] = {};
    for (int c = 0; c < channels; ++c) {
        const float value = x[c * pixels + p];
#pragma unroll
        for (int o = 0; o < 48; ++o)
            sums[o] += w[c * 48 + o] * value;
    }
#pragma unroll
    for (int o = 0; o < 48; ++o)
        y[o * pixels + p] = sums[o];
}
