// Planted: every block of 128 threads asks for 110 KB of shared memory (room for a calibration record
// that this module does not have), so that two blocks, 8 warps, fill a multiprocessor. Repair: the
// 8 KB that the table of 1024 channels takes. The loads are scalar in both twins.
/* rooftree
[shape]
frames = 131072
channels = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "raw"
role = "input"
shape = ["frames", "channels"]
[[buffer]]
name = "pedestal"
role = "input"
shape = ["channels"]
[[buffer]]
name = "gain"
role = "input"
shape = ["channels"]
[[buffer]]
name = "energy"
role = "output"
shape = ["frames", "channels"]
[cost]
bytes = "8 * frames * channels"
flops = "3 * frames * channels"
[[launch]]
kernel = "calibrate"
grid = ["frames // 16"]
block = [128]
args = ["raw", "pedestal", "gain", "energy", { value = 0.25, type = "float32" }]
shared = "8192 if REPAIRED else 112640"
*/
constexpr int CHANNELS = 1024;         // of the module
constexpr int FRAMES_PER_BLOCK = 16;
constexpr int THREADS = 128;

struct Calibration {
    float pedestal, gain;
};

extern __shared__ Calibration table[];

// Zero-suppressed energies of a sampling calorimeter: one pedestal and one gain per channel.
extern "C" __global__ void __launch_bounds__(THREADS) calibrate(const float* __restrict__ raw,
    const float* __restrict__ pedestal, const float* __restrict__ gain, float* __restrict__ energy,
    float threshold)
{
    for (int c = threadIdx.x; c < CHANNELS; c += THREADS) {
        table[c].pedestal = pedestal[c];
        table[c].gain = gain[c];
    }
    __syncthreads();

    const long long first = (long long)blockIdx.x * FRAMES_PER_BLOCK * CHANNELS;
    const float* in = raw + first;
    float* out = energy + first;
#pragma unroll 4
    for (int k = threadIdx.x; k < FRAMES_PER_BLOCK * CHANNELS; k += THREADS) {
        const Calibration c = table[k & (CHANNELS - 1)];
        const float e = (in[k] - c.pedestal) * c.gain;
        out[k] = e > threshold ? e : 0.0f;
    }
}
