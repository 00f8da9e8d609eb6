// Planted: coordinates and neighbours of a site come from divisions and modulos of 64-bit numbers by
// lengths known only at run time, some two dozen for each site. Repair: the coordinates are those of
// thread and block, 32 bits, and wrapping around is a comparison.
/* rooftree
[shape]
lx = 128
ly = 64
lz = 128
lt = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "phi"
role = "input"
shape = ["lt", "lz", "ly", "lx"]
[[buffer]]
name = "action"
role = "output"
shape = ["lt", "lz", "ly", "lx"]
[cost]
bytes = "8 * lx * ly * lz * lt"
flops = "14 * lx * ly * lz * lt"
[[launch]]
kernel = "torus_action"
grid = ["ly if REPAIRED else ly * lz * lt", "lz if REPAIRED else 1", "lt if REPAIRED else 1"]
block = ["lx"]
args = ["phi", "action", { value = "lx", type = "int64" }, { value = "ly", type = "int64" }, { value = "lz", type = "int64" }, { value = "lt", type = "int64" }]
*/
#define MASS 0.35f
#define COUPLING 0.12f

static __device__ __forceinline__ float density(float here, float around)
{
    const float square = here * here;
    return fmaf(COUPLING * square, square, fmaf(4.0f + MASS, square, -0.5f * here * around));
}

// Action density of a scalar field on a four-dimensional torus.
#if REPAIRED
extern "C" __global__ void torus_action(const float* __restrict__ phi, float* __restrict__ action,
    long long lx, long long ly, long long lz, long long lt)
{
    const int nx = (int)lx, ny = (int)ly, nz = (int)lz, nt = (int)lt;
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y, t = blockIdx.z;
    const int sy = nx, sz = nx * ny, st = nx * ny * nz;
    const int s = t * st + z * sz + y * sy + x;
    float around = phi[x + 1 == nx ? s + 1 - nx : s + 1] + phi[x == 0 ? s - 1 + nx : s - 1];
    around += phi[y + 1 == ny ? s + sy - sz : s + sy] + phi[y == 0 ? s - sy + sz : s - sy];
    around += phi[z + 1 == nz ? s + sz - st : s + sz] + phi[z == 0 ? s - sz + st : s - sz];
    around += phi[t + 1 == nt ? s + st - nt * st : s + st] + phi[t == 0 ? s - st + nt * st : s - st];
    action[s] = density(phi[s], around);
}
#else
static __device__ __forceinline__ long long wrap(long long c, long long length)
{
    return (c % length + length) % length;
}

extern "C" __global__ void torus_action(const float* __restrict__ phi, float* __restrict__ action,
    long long lx, long long ly, long long lz, long long lt)
{
    const long long s = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long x = s % lx, y = s / lx % ly, z = s / (lx * ly) % lz, t = s / (lx * ly * lz) % lt;
    const auto site = [=](long long a, long long b, long long c, long long d) {
        return ((wrap(d, lt) * lz + wrap(c, lz)) * ly + wrap(b, ly)) * lx + wrap(a, lx);
    };
    float around = phi[site(x + 1, y, z, t)] + phi[site(x - 1, y, z, t)];
    around += phi[site(x, y + 1, z, t)] + phi[site(x, y - 1, z, t)];
    around += phi[site(x, y, z + 1, t)] + phi[site(x, y, z - 1, t)];
    around += phi[site(x, y, z, t + 1)] + phi[site(x, y, z, t - 1)];
    action[s] = density(phi[s], around);
}
#endif
