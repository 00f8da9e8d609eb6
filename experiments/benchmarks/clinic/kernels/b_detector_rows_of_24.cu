// Planted: one block of 24 threads per detector row. Repair: 256 threads per block over the flat
// array, four channels each.
/* rooftree
[shape]
rows = 2097152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "counts"
role = "input"
shape = ["rows", 24]
[[buffer]]
name = "pedestal"
role = "input"
shape = [24]
[[buffer]]
name = "gain"
role = "input"
shape = [24]
[[buffer]]
name = "energy"
role = "output"
shape = ["rows", 24]
[cost]
bytes = "2 * 4 * rows * 24"
flops = "2 * rows * 24"
[[launch]]
kernel = "calibrate"
grid = ["rows * 24 // 1024 if REPAIRED else rows"]
block = ["256 if REPAIRED else 24"]
args = ["counts", "pedestal", "gain", "energy"]
*/
#if REPAIRED
typedef float4 Channels;
__device__ float4 calibrated(float4 n, float4 p, float4 g)
{
    return make_float4((n.x - p.x) * g.x, (n.y - p.y) * g.y, (n.z - p.z) * g.z, (n.w - p.w) * g.w);
}
#else
typedef float Channels;
__device__ float calibrated(float n, float p, float g) { return (n - p) * g; }
#endif

extern "C" __global__ void calibrate(const Channels* __restrict__ counts,
    const Channels* __restrict__ pedestal, const Channels* __restrict__ gain,
    Channels* __restrict__ energy)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int channel = REPAIRED ? i % 6 : threadIdx.x;
    energy[i] = calibrated(counts[i], pedestal[channel], gain[channel]);
}
