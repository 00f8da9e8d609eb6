// Planted: eight layers are composited into a picture of bytes that each layer unpacks to float and packs
// again. Repair: the picture stays in float, and bytes become floats by a byte permutation below 2^23.
/* rooftree
[shape]
pixels = 16777216
layers = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "layer"
role = "input"
dtype = "uint8"
shape = ["layers", "pixels", 4]
[[buffer]]
name = "picture"
role = "output"
dtype = "uint8"
shape = ["pixels", 4]
[cost]
bytes = "4 * (layers + 1) * pixels"
flops = "7 * layers * pixels"
[[launch]]
kernel = "composite"
grid = ["pixels // 512"]
block = [256]
args = ["layer", "picture", "pixels // 2"]
*/
#define LAYERS 8
#if REPAIRED
typedef float Channel;
__device__ float byte_of(unsigned rgba, int k)
{
    return __uint_as_float(__byte_perm(rgba, 0x4b000000u, 0x7440 + k)) - 8388608.0f;
}
#else
typedef unsigned char Channel;
__device__ float byte_of(unsigned rgba, int k) { return (unsigned char)(rgba >> 8 * k); }
#endif

struct Pixel {
    Channel c[3] = {};
    __device__ void cover(unsigned rgba)
    {
        const float alpha = byte_of(rgba, 3) * (1.0f / 255);
#pragma unroll
        for (int k = 0; k < 3; ++k)
            c[k] = (Channel)fmaf(alpha, byte_of(rgba, k) - c[k], c[k]);
    }
    __device__ unsigned packed() const
    {
        return (unsigned)c[0] | (unsigned)c[1] << 8 | (unsigned)c[2] << 16 | 0xff000000u;
    }
};

extern "C" __global__ void composite(const uint2* __restrict__ layer, uint2* picture, int pitch)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    uint2 seen[LAYERS];
    Pixel left, right;
#pragma unroll
    for (int l = 0; l < LAYERS; ++l)
        seen[l] = layer[l * pitch + i];
#pragma unroll
    for (int l = 0; l < LAYERS; ++l) {
        left.cover(seen[l].x);
        right.cover(seen[l].y);
    }
    picture[i] = make_uint2(left.packed(), right.packed());
}
