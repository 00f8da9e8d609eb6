// Planted: sincosf on phases of 10^5 to 10^7 radians, which takes the slow path: a reduction in
// integer arithmetic with 2 / pi to 192 bits. Repair: the phase is reduced by two multiply-adds (exact
// enough up to 10^7), then the fast functions do.
/* rooftree
[shape]
baselines = 1048576
sources = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "uvw"
role = "input"
shape = ["baselines", "4"]
[[buffer]]
name = "sky"
role = "input"
shape = ["sources", "4"]
fill = "uniform"
[[buffer]]
name = "visibility"
role = "output"
shape = ["baselines", "2"]
[cost]
bytes = "24 * baselines"
flops = "20 * baselines * sources"
[[launch]]
kernel = "predict"
grid = ["baselines // 256"]
block = [256]
args = ["uvw", "sky", "visibility", { value = 1570796.25, type = "float32" }]
*/
constexpr int SOURCES = 256;

__device__ __forceinline__ void phasor(float phase, float* s, float* c)
{
#if REPAIRED
    const float turns = rintf(phase * 0.15915494f);
    float r = fmaf(-turns, 6.2831855f, phase);
    r = fmaf(turns, 1.7484556e-7f, r);   // what 2 pi lacks in single precision
    *s = __sinf(r);
    *c = __cosf(r);
#else
    sincosf(phase, s, c);
#endif
}

// Model visibilities of a radio interferometer: for every baseline (u, v, w in units of a quarter of
// a million wavelengths) the sum over point sources (direction l, m, n and flux) of flux * exp(-i phase).
extern "C" __global__ void __launch_bounds__(256) predict(const float4* __restrict__ uvw,
    const float4* __restrict__ sky, float2* __restrict__ visibility, float radians_per_unit)
{
    __shared__ float4 source[SOURCES];
    source[threadIdx.x] = sky[threadIdx.x];
    __syncthreads();

    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 b = uvw[i];
    float re = 0.0f, im = 0.0f;
    for (int j = 0; j < SOURCES; ++j) {
        const float4 p = source[j];
        const float delay = fmaf(b.x, p.x, fmaf(b.y, p.y, b.z * p.z));
        float s, c;
        phasor(radians_per_unit * delay, &s, &c);
        re = fmaf(p.w, c, re);
        im = fmaf(-p.w, s, im);
    }
    visibility[i] = make_float2(re, im);
}
