// Planted: a cloth's highlight (32nd power) and sheen (5th) are taken through a logarithm and an exponential
// each. Repair: by squaring.
/* rooftree
[shape]
pixels = 8388608
lights = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "slope"
role = "input"
fill = "uniform"
shape = ["pixels", 2]
[[buffer]]
name = "light"
role = "input"
fill = "uniform"
shape = ["lights", 4]
[[buffer]]
name = "radiance"
role = "output"
shape = ["pixels"]
[cost]
bytes = "12 * pixels"
flops = "16 * lights * pixels"
[[launch]]
kernel = "highlights"
grid = ["pixels // 512"]
block = [256]
args = ["slope", "light", "radiance"]
*/
#define LIGHTS 64

template <int N> __device__ float to_the(float x)  // x above 0
{
#if REPAIRED
    if constexpr (N == 1)
        return x;
    else
        return N % 2 ? x * to_the<N - 1>(x) : to_the<N / 2>(x * x);
#else
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(y * N));
    return y;
#endif
}

// Sum over far lights of a Blinn-Phong highlight and, where it fades, of a cloth's sheen.
extern "C" __global__ void highlights(
    const float4* __restrict__ slope, const float4* __restrict__ light, float2* __restrict__ radiance)
{
    __shared__ float4 halfway[LIGHTS];  // between light and eye, and the brightness
    if (threadIdx.x < LIGHTS) {
        const float4 l = light[threadIdx.x];
        const float up = 2.0f + l.z, scale = rsqrtf(l.x * l.x + l.y * l.y + up * up);
        halfway[threadIdx.x] = make_float4(l.x * scale, l.y * scale, up * scale, 1.0f + l.w);
    }
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = slope[i];
    const float z[2] = {rsqrtf(1.0f + v.x * v.x + v.y * v.y), rsqrtf(1.0f + v.z * v.z + v.w * v.w)};
    const float x[2] = {-v.x * z[0], -v.z * z[1]}, y[2] = {-v.y * z[0], -v.w * z[1]};
    float sum[2] = {};
#pragma unroll 4
    for (int k = 0; k < LIGHTS; ++k) {
        const float4 h = halfway[k];
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            const float cosine = __saturatef(h.x * x[p] + h.y * y[p] + h.z * z[p]);
            const float sheen = to_the<5>(1.00001f - cosine);
            sum[p] += h.w * (0.2f * sheen + to_the<32>(cosine + 1e-6f));
        }
    }
    radiance[i] = make_float2(sum[0], sum[1]);
}
