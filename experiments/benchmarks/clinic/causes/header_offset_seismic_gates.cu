// Planted: traces of 1001 samples, each behind the 240 bytes of its header, follow each other in a file of
// the SEG-Y kind; gates of 32 samples then begin at any multiple of four bytes. Repair: file header,
// trace header and samples are padded to whole lines.
/* rooftree
[shape]
traces = 393216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "file"
role = "input"
shape = ["960 + 1088 * traces"]
[[buffer]]
name = "amplitude"
role = "output"
shape = ["traces", 8]
[cost]
bytes = "(8 * 128 + 32) * traces"
flops = "520 * traces"
[[launch]]
kernel = "gate_amplitudes"
grid = ["traces // 8"]
block = [256]
args = ["file", "amplitude"]
*/
#if REPAIRED
constexpr int FILE_HEADER = 960, TRACE_HEADER = 64, TRACE = TRACE_HEADER + 1024;
#else
constexpr int FILE_HEADER = 900, TRACE_HEADER = 60, TRACE = TRACE_HEADER + 1001;
#endif

// Root-mean-square amplitude in eight gates along horizons that dip a little. A warp has one trace.
extern "C" __global__ void gate_amplitudes(const float* __restrict__ file, float* __restrict__ amplitude)
{
    const int trace = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int dip = trace / 64 % 5 * 16;
    const float* samples = file + FILE_HEADER + trace * TRACE + TRACE_HEADER;
    float energy[8];
#pragma unroll
    for (int gate = 0; gate < 8; ++gate)
        energy[gate] = samples[112 * gate + dip + lane];
#pragma unroll
    for (int gate = 0; gate < 8; ++gate)
        energy[gate] *= energy[gate];
    // A third of the butterfly's shuffles: at each step a lane keeps half of its sums.
#pragma unroll
    for (int kept = 4; kept > 0; kept /= 2) {
        const bool upper = lane & 4 * kept;
#pragma unroll
        for (int i = 0; i < kept; ++i) {
            const float given = upper ? energy[i] : energy[i + kept];
            energy[i] = (upper ? energy[i + kept] : energy[i]) + __shfl_xor_sync(~0u, given, 4 * kept);
        }
    }
    float sum = energy[0] + __shfl_xor_sync(~0u, energy[0], 2);
    sum += __shfl_xor_sync(~0u, sum, 1);
    if (lane % 4 == 0)
        amplitude[trace * 8 + lane / 4] = sqrtf(sum / 32);
}
