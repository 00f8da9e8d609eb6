// Planted: five fields out of particle records of 16 floats, so that lanes lie 64 bytes apart.
// Repair: one array for each field, read four particles at a time.
/* rooftree
[shape]
n = 25165824
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "particles"
role = "input"
shape = ["16 * n"]
[[buffer]]
name = "step"
role = "output"
shape = ["n"]
[cost]
bytes = "24 * n"
flops = "12 * n"
[[launch]]
kernel = "courant_steps"
grid = ["n // 1024 if REPAIRED else n // 256"]
block = [256]
args = ["particles", "step", "n"]
*/
struct Particle {
    float position[3], velocity[3], h, density, acceleration[3], energy, mass, viscosity, potential, divergence;
};
constexpr int H = 6, ACCELERATION = 8, ENERGY = 11;

__device__ float step_of(float h, float ax, float ay, float az, float energy)
{
    const float size = fabsf(h) + 1e-4f, sound = sqrtf(1.1111f * fabsf(energy)) + 1e-4f;
    const float force = sqrtf(ax * ax + ay * ay + az * az) + 1e-4f;
    return fminf(0.3f * __fdividef(size, sound), 0.25f * sqrtf(__fdividef(size, force)));
}

#if REPAIRED
extern "C" __global__ void courant_steps(const float* __restrict__ particles, float4* __restrict__ step, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, column = n / 4;
    const float4* of = (const float4*)particles + i;
    const float4 h = of[H * column], e = of[ENERGY * column];
    const float4 x = of[ACCELERATION * column], y = of[(ACCELERATION + 1) * column], z = of[(ACCELERATION + 2) * column];
    step[i] = make_float4(step_of(h.x, x.x, y.x, z.x, e.x), step_of(h.y, x.y, y.y, z.y, e.y),
                          step_of(h.z, x.z, y.z, z.z, e.z), step_of(h.w, x.w, y.w, z.w, e.w));
}
#else
extern "C" __global__ void courant_steps(const Particle* __restrict__ particles, float* __restrict__ step, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const Particle& p = particles[i];
    step[i] = step_of(p.h, p.acceleration[0], p.acceleration[1], p.acceleration[2], p.energy);
}
#endif
