// Planted: one block for each of the 16 fields, so that 16 multiprocessors work. Repair: 64 blocks
// for each field.
/* rooftree
[shape]
fields = 16
points = 8388608
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "velocity"
role = "input"
shape = ["fields", "points"]
[[buffer]]
name = "moments"
role = "output"
shape = ["fields", 2]
[cost]
bytes = "4 * fields * points"
flops = "4 * fields * points"
[[launch]]
memset = "moments"
[[launch]]
kernel = "flatness"
grid = ["64 if REPAIRED else 1", "fields"]
block = [1024]
args = ["velocity", "moments", "points", { value = "1 / points", type = "float32" }]
*/
#define BLOCK 1024

__device__ __forceinline__ float warp_sum(float x)
{
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}

// Second and fourth moment of the velocity of each snapshot of a turbulent flow.
extern "C" __global__ void __launch_bounds__(BLOCK) flatness(const float4* __restrict__ velocity,
    float* __restrict__ moments, int count, float share)
{
    __shared__ float second[BLOCK / 32], fourth[BLOCK / 32];
    const int quads = count / 4, stride = gridDim.x * BLOCK;
    const float4* field = velocity + static_cast<long long>(blockIdx.y) * quads;
    float4 m2 = make_float4(0.0f, 0.0f, 0.0f, 0.0f), m4 = m2;

#pragma unroll 4
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < quads; i += stride) {
        const float4 u = field[i];
        const float4 s = make_float4(u.x * u.x, u.y * u.y, u.z * u.z, u.w * u.w);
        m2.x += s.x, m2.y += s.y, m2.z += s.z, m2.w += s.w;
        m4.x = fmaf(s.x, s.x, m4.x), m4.y = fmaf(s.y, s.y, m4.y);
        m4.z = fmaf(s.z, s.z, m4.z), m4.w = fmaf(s.w, s.w, m4.w);
    }

    const float a = warp_sum(m2.x + m2.y + (m2.z + m2.w));
    const float b = warp_sum(m4.x + m4.y + (m4.z + m4.w));
    if (threadIdx.x % 32 == 0)
        second[threadIdx.x / 32] = a, fourth[threadIdx.x / 32] = b;
    __syncthreads();
    if (threadIdx.x < 32) {
        const float sum2 = warp_sum(second[threadIdx.x]), sum4 = warp_sum(fourth[threadIdx.x]);
        if (threadIdx.x == 0) {
            atomicAdd(&moments[blockIdx.y * 2], sum2 * share);
            atomicAdd(&moments[blockIdx.y * 2 + 1], sum4 * share);
        }
    }
}
