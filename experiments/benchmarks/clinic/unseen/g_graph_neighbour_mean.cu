// Planted: the 16 features of a node are kept at a pitch of 17 floats, so that nearly every row starts
// in the middle of a sector: three sectors (two pairs) for 64 bytes, and no vector loads. Repair: a
// pitch of 16, rows of whole sectors, one float4 per lane.
/* rooftree
[shape]
nodes = 4194304
seeds = 2097152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["nodes", 16]
[[buffer]]
name = "y"
role = "output"
shape = ["seeds", 16]
[[workspace]]
name = "features"
size = "nodes * (16 if REPAIRED else 17)"
[cost]
bytes = "128 * nodes + 64 * 32 * seeds + 64 * seeds"
flops = "16 * nodes + 32 * 16 * seeds"
[[launch]]
kernel = "scale_features"
grid = ["nodes * (16 if REPAIRED else 17) // 256"]
block = [256]
args = ["x", "features"]
[[launch]]
kernel = "sample_mean"
grid = ["seeds // 64 if REPAIRED else seeds // 16"]
block = [256]
args = ["features", "y", { value = "nodes - 1", type = "uint32" }]
*/
#define WIDTH 16
#define SAMPLES 32
#if REPAIRED
#define PITCH 16
#else
#define PITCH 17
#endif

// Input features to the layer's working copy, the rest of a row is zero.
extern "C" __global__ void __launch_bounds__(256) scale_features(const float* __restrict__ x,
    float* __restrict__ features)
{
    const unsigned i = blockIdx.x * 256u + threadIdx.x;
    const unsigned node = i / PITCH, f = i % PITCH;
    features[i] = f < WIDTH ? 0.25f * x[node * WIDTH + f] : 0.0f;
}

// The s-th neighbour drawn for a seed, with replacement; the number of nodes is a power of two.
static __device__ __forceinline__ unsigned neighbour(unsigned seed, unsigned s, unsigned mask)
{
    unsigned h = seed * 0x9E3779B1u + s * 0x85EBCA77u;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    h ^= h >> 13;
    return h & mask;
}

extern "C" __global__ void __launch_bounds__(256, 4) sample_mean(const float* __restrict__ features,
    float* __restrict__ y, unsigned mask)
{
#if REPAIRED
    const unsigned i = blockIdx.x * 256u + threadIdx.x, seed = i / 4, quarter = i % 4;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 16
    for (int s = 0; s < SAMPLES; ++s) {
        const float4 row =
            *(const float4*)&features[neighbour(seed, s, mask) * PITCH + quarter * 4];
        sum.x += row.x, sum.y += row.y, sum.z += row.z, sum.w += row.w;
    }
    const float share = 1.0f / SAMPLES;
    *(float4*)&y[seed * WIDTH + quarter * 4] =
        make_float4(sum.x * share, sum.y * share, sum.z * share, sum.w * share);
#else
    const unsigned i = blockIdx.x * 256u + threadIdx.x, seed = i / WIDTH, f = i % WIDTH;
    float sum = 0.0f;
#pragma unroll 16
    for (int s = 0; s < SAMPLES; ++s)
        sum += features[neighbour(seed, s, mask) * PITCH + f];
    y[i] = sum * (1.0f / SAMPLES);
#endif
}
