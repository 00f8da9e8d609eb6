// Planted: the cell of a point is found afresh on each of 16 octree levels, three casts to int a level.
// Repair: one cast per axis at the finest level; a coarser cell is a shift of it.
/* rooftree
[shape]
points = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "xs"
role = "input"
fill = "uniform"
shape = ["points"]
[[buffer]]
name = "ys"
role = "input"
fill = "uniform"
shape = ["points"]
[[buffer]]
name = "zs"
role = "input"
fill = "uniform"
shape = ["points"]
[[buffer]]
name = "signature"
role = "output"
dtype = "int32"
shape = ["points"]
[cost]
bytes = "16 * points"
flops = "128 * points"
math = "int32"
[[launch]]
kernel = "point_signatures"
grid = ["points // 512"]
block = [256]
args = ["xs", "ys", "zs", "signature"]
*/
#define LEVELS 16

// Signature of a lidar point for loop closure: the hashes of its cells on all levels, mixed.
__device__ int signature_of(float x, float y, float z)
{
    x = __saturatef(x * 0.5f + 0.5f);
    y = __saturatef(y * 0.5f + 0.5f);
    z = __saturatef(z * 0.5f + 0.5f);
#if REPAIRED
    const int fx = x * (1 << LEVELS), fy = y * (1 << LEVELS), fz = z * (1 << LEVELS);
#endif
    unsigned mixed = 0;
#pragma unroll
    for (int level = 1; level <= LEVELS; ++level) {
#if REPAIRED
        const int cx = fx >> (LEVELS - level), cy = fy >> (LEVELS - level), cz = fz >> (LEVELS - level);
#else
        const int cx = x * (1 << level), cy = y * (1 << level), cz = z * (1 << level);
#endif
        mixed = mixed * 31u + (cx ^ cy * 19349663u ^ cz * 83492791u);
    }
    return mixed;
}

extern "C" __global__ void point_signatures(
    const float2* xs, const float2* ys, const float2* zs, int2* signature)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float2 x = xs[i], y = ys[i], z = zs[i];
    signature[i] = make_int2(signature_of(x.x, y.x, z.x), signature_of(x.y, y.y, z.y));
}
