// Planted: the projection constants have no `f`, so every Newton step of a float computation is done
// in fp64 and converted back. Repair: float constants.
/* rooftree
[shape]
points = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "plane"
role = "input"
fill = "uniform"
shape = ["points", 2]
[[buffer]]
name = "sphere"
role = "output"
shape = ["points", 2]
[cost]
bytes = "16 * points"
flops = "120 * points"
math = "fp32"
[[launch]]
kernel = "equal_earth_inverse"
grid = ["points / 512"]
block = [256]
args = ["plane", "sphere"]
*/
#if REPAIRED
#define A1 1.340264f
#define A2 -0.081106f
#define A3 0.000893f
#define A4 0.003796f
#define K(x) x##f
#else
#define A1 1.340264
#define A2 -0.081106
#define A3 0.000893
#define A4 0.003796
#define K(x) x
#endif

// Equal Earth map (x, y) to (longitude, parametric latitude).
__device__ float2 invert(float x, float y)
{
    float theta = y;
    float scale = 1.0f;
#pragma unroll
    for (int step = 0; step < 6; ++step) {
        const auto square = K(1.0) * theta * theta;
        const auto sixth = square * square * square;
        const auto miss = theta * (A1 + A2 * square + sixth * (A3 + A4 * square)) - y;
        const auto slope = A1 + K(3.0) * A2 * square + sixth * (K(7.0) * A3 + K(9.0) * A4 * square);
#if REPAIRED
        theta -= __fdividef(miss, slope);
#else
        theta -= miss / slope;
#endif
        scale = slope;
    }
    return make_float2(1.1547005f * x * scale, theta);
}

extern "C" __global__ void equal_earth_inverse(const float4* plane, float4* sphere)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = plane[i];
    const float2 a = invert(v.x, v.y);
    const float2 b = invert(v.z, v.w);
    sphere[i] = make_float4(a.x, a.y, b.x, b.y);
}
