// Planted: the Park transform of a drive's three currents takes the rotor angle in radians since
// power-up, three times sincosf. Repair: encoder counts are reduced modulo an electrical turn.
/* rooftree
[shape]
samples = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "a"
role = "input"
shape = ["samples"]
[[buffer]]
name = "b"
role = "input"
shape = ["samples"]
[[buffer]]
name = "c"
role = "input"
shape = ["samples"]
[[buffer]]
name = "dq"
role = "output"
shape = ["samples", 2]
[cost]
bytes = "20 * samples"
flops = "72 * samples"
[[launch]]
kernel = "park_transform"
grid = ["samples // 256"]
block = [256]
args = ["a", "b", "c", "dq"]
*/
constexpr int PER_TURN = 4096, POLE_PAIRS = 4, AT_START = 40000000, PER_SAMPLE = 3;
// Adds the part of one winding, whose axis stands `shift` turns behind.
__device__ void project(float2& dq, float current, int counts, float shift)
{
    float s, c;
#if REPAIRED
    const int electrical = counts * POLE_PAIRS & (PER_TURN - 1);
    sincospif(electrical * (2.0f / PER_TURN) - 2.0f * shift, &s, &c);
#else
    const float angle = (float)counts * (POLE_PAIRS * 6.2831853f / PER_TURN);
    sincosf(angle - 6.2831853f * shift, &s, &c);
#endif
    dq.x = fmaf(2.0f / 3.0f * current, c, dq.x);
    dq.y = fmaf(-2.0f / 3.0f * current, s, dq.y);
}

extern "C" __global__ void park_transform(const float* __restrict__ a, const float* __restrict__ b,
    const float* __restrict__ c, float2* __restrict__ dq)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int counts = AT_START + i * PER_SAMPLE;
    float2 turned = make_float2(0.0f, 0.0f);
    project(turned, a[i], counts, 0.0f);
    project(turned, b[i], counts, 1.0f / 3.0f);
    project(turned, c[i], counts, -1.0f / 3.0f);
    dq[i] = turned;
}
