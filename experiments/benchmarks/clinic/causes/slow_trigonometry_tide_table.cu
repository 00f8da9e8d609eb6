// Planted: each tidal constituent is cosf of its speed times the hours since 1900, a few hundred
// thousand radians. Repair: whole cycles are taken off exactly first, and cosf sees a small angle.
/* rooftree
[shape]
hours = 2097152
constituents = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "when"
role = "input"
shape = ["hours"]
[[buffer]]
name = "harmonics"
role = "input"
shape = ["constituents", 4]
[[buffer]]
name = "level"
role = "output"
shape = ["hours"]
[cost]
bytes = "8 * hours"
flops = "20 * constituents * hours"
math = "fp32"
[[launch]]
kernel = "predict_tide"
grid = ["hours // 256"]
block = [256]
args = ["when", "harmonics", "level", "constituents"]
*/
__device__ float cycle(float cycles_per_hour, float hour, float offset)
{
    constexpr float TURN = 6.2831853f;
#if REPAIRED
    const float whole = (cycles_per_hour * hour + 12582912.0f) - 12582912.0f;
    return cosf(TURN * (fmaf(cycles_per_hour, hour, -whole) + offset));
#else
    return cosf(TURN * fmaf(cycles_per_hour, hour, offset));
#endif
}

extern "C" __global__ void predict_tide(const float* __restrict__ when,
    const float4* __restrict__ harmonics, float* __restrict__ level, int constituents)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float hour = fmaf(30000.0f, when[i], 1100000.0f);
    float sum = 0.0f;
    for (int k = 0; k < constituents; ++k) {
        const float4 h = harmonics[k];  // amplitude, speed, phase, nodal factor
        const float speed = fmaf(0.01f, fabsf(h.y), 0.04f);
        sum = fmaf(h.x * h.w, cycle(speed, hour, h.z), sum);
    }
    level[i] = sum;
}
