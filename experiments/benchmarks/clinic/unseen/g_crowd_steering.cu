// Planted: a block brings whole agent records of 192 bytes to shared memory, and uses 32 bytes of each.
// Repair: only the one sector with position and velocity is read, by two lanes per agent.
/* rooftree
[shape]
agents = 8388608
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "agents_in"
role = "input"
shape = ["agents", 48]
[[buffer]]
name = "moved"
role = "output"
shape = ["agents", 4]
[cost]
bytes = "32 * agents + 16 * agents"
flops = "14 * agents"
[[launch]]
kernel = "steer"
grid = ["agents // 64 if REPAIRED else agents // 128"]
block = [128]
args = ["agents_in", "moved", { value = 0.016, type = "float32" }]
*/
// One agent of the game: what the renderer, the animation and the planner keep, and in the middle
// what moves it.
struct __align__(16) Agent {
    float4 colours[2], gait[2];
    float4 place;    // x, y, z, radius
    float4 velocity; // x, y, z, highest speed
    float4 bones[4], plans[2];
};
#define QUADS ((int)(sizeof(Agent) / sizeof(float4)))
#define PLACE 4

static __device__ __forceinline__ float4 step(float4 place, float4 velocity, float dt)
{
    const float square =
        velocity.x * velocity.x + velocity.y * velocity.y + velocity.z * velocity.z;
    const float limit = fabsf(velocity.w) + 0.1f;
    const float share = dt * fminf(1.0f, limit * rsqrtf(square + 1e-12f));
    return make_float4(fmaf(share, velocity.x, place.x), fmaf(share, velocity.y, place.y),
        fmaf(share, velocity.z, place.z), place.w);
}

extern "C" __global__ void __launch_bounds__(128) steer(const float4* __restrict__ agents,
    float4* __restrict__ moved, float dt)
{
#if REPAIRED
    const int i = blockIdx.x * 128 + threadIdx.x, agent = i / 2, half = i % 2;
    const float4 mine = agents[agent * QUADS + PLACE + half];
    float4 other;
    other.x = __shfl_xor_sync(0xffffffffu, mine.x, 1);
    other.y = __shfl_xor_sync(0xffffffffu, mine.y, 1);
    other.z = __shfl_xor_sync(0xffffffffu, mine.z, 1);
    other.w = __shfl_xor_sync(0xffffffffu, mine.w, 1);
    if (half == 0)
        moved[agent] = step(mine, other, dt);
#else
    __shared__ float4 records[128][QUADS + 1];
    const int first = blockIdx.x * 128;
    float4 part[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; ++k)
        part[k] = agents[first * QUADS + k * 128 + threadIdx.x];
#pragma unroll
    for (int k = 0; k < QUADS; ++k) {
        const int at = k * 128 + threadIdx.x;
        records[at / QUADS][at % QUADS] = part[k];
    }
    __syncthreads();
    const float4* agent = records[threadIdx.x];
    moved[first + threadIdx.x] = step(agent[PLACE], agent[PLACE + 1], dt);
#endif
}
