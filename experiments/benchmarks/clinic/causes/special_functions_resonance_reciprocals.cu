// Planted: every neutron energy takes the reciprocal of each resonance's denominator. Repair: four
// resonances are brought over one denominator and share a reciprocal.
/* rooftree
[shape]
energies = 4194304
resonances = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "energy"
role = "input"
fill = "uniform"
shape = ["energies"]
[[buffer]]
name = "resonance"
role = "input"
fill = "uniform"
shape = ["resonances", 2]
[[buffer]]
name = "section"
role = "output"
shape = ["energies"]
[cost]
bytes = "8 * energies"
flops = "6 * resonances * energies"
[[launch]]
kernel = "breit_wigner"
grid = ["energies // 1024"]
block = [256]
args = ["energy", "resonance", "section"]
*/
#define RESONANCES 256
#define WIDTH_SQUARED 0.01f  // of all resonances: the Doppler width

__device__ float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ float denominator(float energy, float2 r)
{
    const float off = energy - r.x;
    return off * off + WIDTH_SQUARED;
}

extern "C" __global__ void breit_wigner(
    const float4* __restrict__ energy, const float2* __restrict__ resonance, float4* __restrict__ section)
{
    __shared__ float2 table[RESONANCES];  // energy, strength
    table[threadIdx.x] = resonance[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = energy[i];
    const float e[4] = {v.x, v.y, v.z, v.w};
    float sum[4] = {};
    for (int k = 0; k < RESONANCES; k += 4) {
        const float2 p = table[k], q = table[k + 1], r = table[k + 2], s = table[k + 3];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float dp = denominator(e[j], p), dq = denominator(e[j], q);
            const float dr = denominator(e[j], r), ds = denominator(e[j], s);
#if REPAIRED
            const float pq = dp * dq, rs = dr * ds;
            const float top = (p.y * dq + q.y * dp) * rs + (r.y * ds + s.y * dr) * pq;
            sum[j] += top * reciprocal(pq * rs);
#else
            sum[j] += p.y * reciprocal(dp) + q.y * reciprocal(dq);
            sum[j] += r.y * reciprocal(dr) + s.y * reciprocal(ds);
#endif
        }
    }
    section[i] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}
