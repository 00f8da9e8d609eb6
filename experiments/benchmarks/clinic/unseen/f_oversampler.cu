// Planted: the filter runs over the zero-stuffed signal, all 64 taps for every output, and a predicate
// switches off the lanes where a tap falls on a stuffed zero: seven of eight. Repair: every lane takes
// the eight taps of its own phase.
/* rooftree
[shape]
frames = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "dry"
role = "input"
shape = ["frames", "4"]
[[buffer]]
name = "taps"
role = "input"
shape = ["64"]
[[buffer]]
name = "wet"
role = "output"
shape = ["8 * frames", "4"]
[cost]
bytes = "16 * frames + 16 * 8 * frames + 256"
flops = "8 * frames * 64"
[[launch]]
kernel = "oversample"
grid = ["frames // 32"]
block = [256]
args = ["dry", "taps", "wet"]
*/
constexpr int FACTOR = 8, TAPS = 64, DEPTH = TAPS / FACTOR;

// Four channels of one tap, in the lanes where phase == residue; no branch.
__device__ __forceinline__ void add_where(float4& sum, int phase, int residue, float tap, const float4& x)
{
    asm("{\n\t.reg .pred on;\n\t"
        "setp.eq.s32 on, %4, %5;\n\t"
        "@on fma.rn.f32 %0, %6, %7, %0;\n\t"
        "@on fma.rn.f32 %1, %6, %8, %1;\n\t"
        "@on fma.rn.f32 %2, %6, %9, %2;\n\t"
        "@on fma.rn.f32 %3, %6, %10, %3;\n\t}"
        : "+f"(sum.x), "+f"(sum.y), "+f"(sum.z), "+f"(sum.w)
        : "r"(phase), "r"(residue), "f"(tap), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w));
}

// Quadraphonic sound, eight times oversampled: y[8 q + phase] = sum of taps[8 m + phase] * x[q - m]
extern "C" __global__ void __launch_bounds__(256) oversample(const float4* __restrict__ dry,
    const float* __restrict__ taps, float4* __restrict__ wet)
{
    __shared__ float4 x[32 + DEPTH];
    __shared__ __align__(16) float h[TAPS];
    const int t = threadIdx.x, first = blockIdx.x * 32 - DEPTH;
    if (t < 32 + DEPTH)
        x[t] = first + t >= 0 ? dry[first + t] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    else if (t >= 64 && t < 64 + TAPS)
        h[t - 64] = taps[t - 64];
    __syncthreads();
    const int phase = t % FACTOR, q = t / FACTOR + DEPTH;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int m = 0; m < DEPTH; ++m) {
        const float4 sample = x[q - m];
#if REPAIRED
        const float tap = h[m * FACTOR + phase];
        sum.x = fmaf(tap, sample.x, sum.x), sum.y = fmaf(tap, sample.y, sum.y);
        sum.z = fmaf(tap, sample.z, sum.z), sum.w = fmaf(tap, sample.w, sum.w);
#else
        const float4 even = *(const float4*)&h[m * FACTOR], odd = *(const float4*)&h[m * FACTOR + 4];
        add_where(sum, phase, 0, even.x, sample);
        add_where(sum, phase, 1, even.y, sample);
        add_where(sum, phase, 2, even.z, sample);
        add_where(sum, phase, 3, even.w, sample);
        add_where(sum, phase, 4, odd.x, sample);
        add_where(sum, phase, 5, odd.y, sample);
        add_where(sum, phase, 6, odd.z, sample);
        add_where(sum, phase, 7, odd.w, sample);
#endif
    }
    wet[blockIdx.x * 256 + t] = sum;
}
