// Planted: 133 blocks of 512 orbits in double precision, one per multiprocessor by their registers; one
// block is left for a second wave. Repair: blocks of 64 orbits, about eight on each multiprocessor.
/* rooftree
[shape]
n = 68096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "state"
role = "input"
dtype = "float64"
fill = "uniform"
shape = [6, "n"]
[[buffer]]
name = "later"
role = "output"
dtype = "float64"
shape = [6, "n"]
[cost]
bytes = "96 * n"
flops = "n * 256 * 4 * 60"
math = "fp64"
[[launch]]
kernel = "propagate"
grid = ["n // 64 if REPAIRED else n // 512"]
block = ["64 if REPAIRED else 512"]
args = ["state", "later", "n"]
*/
constexpr int STEPS = 256;
constexpr double H = 0.01, J2 = 1.6e-3;  // canonical units

struct Orbit { double x, y, z, u, v, w; };

__device__ Orbit moved(const Orbit& a, double h, const Orbit& d)
{
    return {a.x + h * d.x, a.y + h * d.y, a.z + h * d.z, a.u + h * d.u, a.v + h * d.v, a.w + h * d.w};
}

__device__ Orbit slope(const Orbit& a)  // central force and the flattening of the Earth
{
    const double near = rsqrt(a.x * a.x + a.y * a.y + a.z * a.z), near2 = near * near;
    const double pull = -near2 * near, flat = J2 * near2, tilt = 5.0 * a.z * a.z * near2;
    const double side = pull * (1.0 + flat * (1.0 - tilt));
    return {a.u, a.v, a.w, side * a.x, side * a.y, pull * (1.0 + flat * (3.0 - tilt)) * a.z};
}

extern "C" __global__ void __launch_bounds__(REPAIRED ? 64 : 512)
    propagate(const double* __restrict__ state, double* __restrict__ later, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Orbit a = {1.5 + 0.2 * state[i], 0.2 * state[n + i], 0.2 * state[2 * n + i],
        0.1 * state[3 * n + i], 0.8 + 0.1 * state[4 * n + i], 0.1 * state[5 * n + i]};
    for (int step = 0; step < STEPS; ++step) {
        const Orbit k1 = slope(a), k2 = slope(moved(a, H / 2, k1));
        const Orbit k3 = slope(moved(a, H / 2, k2)), k4 = slope(moved(a, H, k3));
        a = moved(moved(moved(moved(a, H / 6, k1), H / 3, k2), H / 3, k3), H / 6, k4);
    }
    later[i] = a.x, later[n + i] = a.y, later[2 * n + i] = a.z;
    later[3 * n + i] = a.u, later[4 * n + i] = a.v, later[5 * n + i] = a.w;
}
