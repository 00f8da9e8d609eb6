// Planted: a beamformer lays the delays of all 128 channels to its 128 pixels into shared memory, 64 KB a block, before it
// sums. Repair: a table of 16 channels at a time, 8 KB.
/* rooftree
[shape]
size = 1024
samples = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "echoes"
role = "input"
shape = [128, "samples"]
[[buffer]]
name = "apodization"
role = "input"
shape = [128]
[[buffer]]
name = "image"
role = "output"
shape = ["size", "size"]
[cost]
bytes = "4 * size * size + 512 * samples"
flops = "14 * 128 * size * size"
[[launch]]
kernel = "delay_and_sum"
grid = ["size // 128", "size"]
block = [128]
shared = "8192 if REPAIRED else 65536"
args = ["echoes", "apodization", "image", "size", "samples"]
*/
constexpr int CHANNELS = 128, AT_ONCE = REPAIRED ? 16 : CHANNELS;
extern __shared__ float delays[];

extern "C" __global__ void delay_and_sum(const float* __restrict__ echoes, const float* __restrict__ apodization,
    float* __restrict__ image, int size, int samples)
{
    const int t = threadIdx.x, column = blockIdx.x * 128 + t;
    // In samples: the image is 410 wide and 819 deep, the probe 384 wide.
    const float x = 0.4f * (column - 0.5f * size), z = 20.0f + 0.8f * blockIdx.y;
    float sum = 0.0f;
    for (int first = 0; first < CHANNELS; first += AT_ONCE) {
        for (int c = 0; c < AT_ONCE; ++c) {
            const float dx = x - 3.0f * (first + c - 63.5f), square = z * z + dx * dx;
            delays[c * 128 + t] = z + square * rsqrtf(square);
        }
#pragma unroll 2
        for (int c = 0; c < AT_ONCE; ++c) {
            const float delay = delays[c * 128 + t];
            const int before = min((int)delay, samples - 2);
            const float* line = echoes + (first + c) * samples + before;
            sum += apodization[first + c] * (line[0] + (delay - before) * (line[1] - line[0]));
        }
    }
    image[blockIdx.y * size + column] = sum;
}
