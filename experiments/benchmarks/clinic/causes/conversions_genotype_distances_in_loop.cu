// Planted: centred allele dosages lie in shared memory as bytes and are converted for every pair of samples that
// meets there. Repair: converted once, as the tile is filled.
/* rooftree
[shape]
samples = 4096
loci = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "dosage"
role = "input"
dtype = "uint8"
shape = ["loci", "samples"]
[[buffer]]
name = "distance"
role = "output"
shape = ["samples", "samples"]
[cost]
bytes = "loci * samples + 4 * samples * samples"
flops = "2 * loci * samples * samples"
[[launch]]
kernel = "identity_by_state"
grid = ["samples // 64", "samples // 64"]
block = [256]
args = ["dosage", "distance", "samples", "loci"]
*/
#if REPAIRED
typedef float4 Four;
__device__ Four kept(char4 v) { return make_float4(v.x, v.y, v.z, v.w); }
#else
typedef char4 Four;
__device__ Four kept(char4 v) { return v; }
#endif

// Sum over loci of |a - b| for 64 by 64 pairs of samples; a thread has 4 by 4.
extern "C" __global__ void identity_by_state(
    const char4* __restrict__ dosage, float4* __restrict__ distance, int samples, int loci)
{
    __shared__ Four rows[32][16], columns[32][16];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    float sum[4][4] = {};
    for (int first = 0; first < loci; first += 32) {
#pragma unroll
        for (int l = y, half = 0; half < 2; ++half, l += 16) {
            const char4* locus = dosage + (first + l) * (samples / 4) + x;
            rows[l][x] = kept(locus[blockIdx.y * 16]);
            columns[l][x] = kept(locus[blockIdx.x * 16]);
        }
        __syncthreads();
#pragma unroll 8
        for (int l = 0; l < 32; ++l) {
            const Four r = rows[l][y], c = columns[l][x];
            const float a[4] = {(float)r.x, (float)r.y, (float)r.z, (float)r.w};
            const float b[4] = {(float)c.x, (float)c.y, (float)c.z, (float)c.w};
#pragma unroll
            for (int k = 0; k < 16; ++k)
                sum[k / 4][k % 4] += fabsf(a[k / 4] - b[k % 4]);
        }
        __syncthreads();
    }
    for (int k = 0; k < 4; ++k)
        distance[((blockIdx.y * 64 + y * 4 + k) * samples + blockIdx.x * 64) / 4 + x] =
            make_float4(sum[k][0], sum[k][1], sum[k][2], sum[k][3]);
}
