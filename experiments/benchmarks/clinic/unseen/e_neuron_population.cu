// Planted: the constants of the recovery variable are written without f, so that its derivative is
// computed in double precision and converted there and back. Repair: the f.
/* rooftree
[shape]
neurons = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "current"
role = "input"
shape = ["neurons"]
fill = "uniform"
[[buffer]]
name = "start"
role = "input"
shape = ["neurons"]
fill = "uniform"
[[buffer]]
name = "voltage"
role = "output"
shape = ["neurons"]
[[buffer]]
name = "recovery"
role = "output"
shape = ["neurons"]
[cost]
bytes = "16 * neurons"
flops = "16 * 1024 * neurons"
[[launch]]
kernel = "integrate"
grid = ["neurons // 256"]
block = [256]
args = ["current", "start", "voltage", "recovery", 1024, { value = 0.01, type = "float32" }]
*/
// FitzHugh-Nagumo: a fast voltage v, and w, by which it recovers.
__device__ __forceinline__ float excite(float v, float w, float drive)
{
    return fmaf(v * v, v * (-1.0f / 3.0f), v) + (drive - w);
}

__device__ __forceinline__ float recover(float v, float w)
{
#if REPAIRED
    return 0.08f * (v + 0.7f - 0.8f * w);
#else
    return 0.08 * (v + 0.7 - 0.8 * w);
#endif
}

extern "C" __global__ void __launch_bounds__(256) integrate(const float* __restrict__ current,
    const float* __restrict__ start, float* __restrict__ voltage, float* __restrict__ recovery,
    int steps, float dt)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float drive = 0.25f * current[i];
    float v = start[i], w = 0.0f;

#pragma unroll 8
    for (int s = 0; s < steps; ++s) {
        const float dv = excite(v, w, drive);
        const float dw = recover(v, w);
        v = fmaf(dt, dv, v);
        w = fmaf(dt, dw, w);
    }

    voltage[i] = v;
    recovery[i] = w;
}
