// Planted: a quadtree key is built level by level, float to integer and back for every digit.
// Repair: one conversion per coordinate; the bits are interleaved with shifts and masks.
/* rooftree
[shape]
points = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "east"
role = "input"
fill = "uniform"
shape = ["points"]
[[buffer]]
name = "north"
role = "input"
fill = "uniform"
shape = ["points"]
[[buffer]]
name = "quadkey"
role = "output"
dtype = "int32"
shape = ["points"]
[cost]
bytes = "12 * points"
flops = "4 * points"
math = "fp32"
[[launch]]
kernel = "quadkeys"
grid = ["points / 1024"]
block = [256]
args = ["east", "north", "quadkey"]
*/
__device__ unsigned spread(unsigned v)
{
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    v = (v | v << 2) & 0x33333333u;
    return (v | v << 1) & 0x55555555u;
}

__device__ unsigned encode(float east, float north)
{
    float x = fminf(0.5f + 0.5f * east, 0.99999994f);
    float y = fminf(0.5f + 0.5f * north, 0.99999994f);
#if REPAIRED
    return spread((unsigned)(x * 65536.0f)) | spread((unsigned)(y * 65536.0f)) << 1;
#else
    unsigned key = 0;
#pragma unroll
    for (int level = 0; level < 16; ++level) {
        x *= 2.0f;
        y *= 2.0f;
        const int right = (int)x, up = (int)y;
        x -= (float)right;
        y -= (float)up;
        key = key * 4 + up * 2 + right;
    }
    return key;
#endif
}

extern "C" __global__ void quadkeys(const float4* east, const float4* north, uint4* quadkey)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 e = east[i], n = north[i];
    quadkey[i] = make_uint4(encode(e.x, n.x), encode(e.y, n.y), encode(e.z, n.z),
                            encode(e.w, n.w));
}
