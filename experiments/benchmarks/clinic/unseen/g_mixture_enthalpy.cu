// Planted: products and sums are kept apart by rounding intrinsics ("as the CPU code rounds"): two
// instructions for every step of Horner's rule. Repair: fmaf.
/* rooftree
[shape]
cells = 16777216
species = 128
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "temperature"
role = "input"
shape = ["cells"]
fill = "uniform"
[[buffer]]
name = "fit"
role = "input"
shape = ["species", 8]
[[buffer]]
name = "enthalpy"
role = "output"
shape = ["cells"]
[cost]
bytes = "8 * cells + 32 * species"
flops = "14 * cells * species"
[[launch]]
kernel = "mixture_enthalpy"
grid = ["cells // 2048"]
block = [256]
shared = "32 * species"
args = ["temperature", "fit", "enthalpy", "species", { value = "1 / species", type = "float32" }]
*/
extern __shared__ float4 table[];

static __device__ __forceinline__ float madd(float a, float b, float c)
{
#if REPAIRED
    return fmaf(a, b, c);
#else
    return __fadd_rn(__fmul_rn(a, b), c);
#endif
}

// Enthalpy of a gas from seven-coefficient fits: for each species six powers of the (scaled)
// temperature, weighted with its mass fraction, the eighth number of its fit.
extern "C" __global__ void __launch_bounds__(256) mixture_enthalpy(
    const float4* __restrict__ temperature, const float4* __restrict__ fit,
    float4* __restrict__ enthalpy, int species, float share)
{
    for (int i = threadIdx.x; i < 2 * species; i += 256)
        table[i] = fit[i];
    const int first = blockIdx.x * 512 + threadIdx.x;
    const float4 a = temperature[first], b = temperature[first + 256];
    const float t[8] = { a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w };
    float sum[8] = {};
    __syncthreads();
#pragma unroll 2
    for (int s = 0; s < species; ++s) {
        const float4 low = table[2 * s], high = table[2 * s + 1];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            float h = madd(high.z, t[j], high.y);
            h = madd(h, t[j], high.x);
            h = madd(h, t[j], low.w);
            h = madd(h, t[j], low.z);
            h = madd(h, t[j], low.y);
            h = madd(h, t[j], low.x);
            sum[j] = madd(high.w, h, sum[j]);
        }
    }
    enthalpy[first] =
        make_float4(share * sum[0], share * sum[1], share * sum[2], share * sum[3]);
    enthalpy[first + 256] =
        make_float4(share * sum[4], share * sum[5], share * sum[6], share * sum[7]);
}
