// Planted: the softening and the 1.0 are double literals, so that the inner loop of a gravity field
// is computed in double precision. Repair: float literals and rsqrtf.
/* rooftree
[shape]
points = 1216512
bodies = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "position"
role = "input"
shape = ["points", 4]
[[buffer]]
name = "body"
role = "input"
shape = ["bodies", 4]
[[buffer]]
name = "field"
role = "output"
shape = ["points", 4]
[cost]
bytes = "32 * points"
flops = "20 * points * bodies"
[[launch]]
kernel = "gravity_field"
grid = ["points // 128"]
block = [128]
args = ["position", "body", "field"]
*/
constexpr int BODIES = 256;

extern "C" __global__ void gravity_field(
    const float4* __restrict__ position, const float4* __restrict__ body, float4* __restrict__ field)
{
    __shared__ float4 bodies[BODIES];
    for (int j = threadIdx.x; j < BODIES; j += blockDim.x)
        bodies[j] = body[j];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 p = position[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll 8
    for (int j = 0; j < BODIES; ++j) {
        const float4 b = bodies[j];
        const float dx = b.x - p.x, dy = b.y - p.y, dz = b.z - p.z;
        const float r2 = dx * dx + dy * dy + dz * dz;
#if REPAIRED
        const float inverse = rsqrtf(r2 + 1e-6f);
        const float pull = b.w * inverse * inverse * inverse;
#else
        const double inverse = 1.0 / sqrt(r2 + 1e-6);
        const float pull = b.w * inverse * inverse * inverse;
#endif
        x += pull * dx;
        y += pull * dy;
        z += pull * dz;
    }
    field[i] = make_float4(x, y, z, 0.0f);
}
