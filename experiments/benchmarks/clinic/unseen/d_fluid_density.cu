// Planted: 160 equal blocks of 1024 threads, of which one fills a multiprocessor (by its registers):
// 132 run, then 28 on an otherwise empty device. Repair: one particle per thread in blocks of 128,
// 10240 blocks of which 16 fit.
/* rooftree
[shape]
particles = 1310720
boundary = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "fluid"
role = "input"
shape = ["particles", "4"]
[[buffer]]
name = "wall"
role = "input"
shape = ["boundary", "4"]
[[buffer]]
name = "density"
role = "output"
shape = ["particles"]
[cost]
bytes = "20 * particles"
flops = "14 * particles * boundary"
[[launch]]
kernel = "wall_density"
grid = ["particles // 128 if REPAIRED else particles // 8192"]
block = ["128 if REPAIRED else 1024"]
args = ["fluid", "wall", "density", { value = 1.5, type = "float32" }]
*/
constexpr int WALL = 2048;
constexpr int THREADS = REPAIRED ? 128 : 1024;
constexpr int EACH = REPAIRED ? 1 : 8;   // particles of a thread

// Smoothed particle hydrodynamics: what the particles of the boundary (position and mass) add to the
// density at each fluid particle, with the poly6 kernel.
extern "C" __global__ void __launch_bounds__(THREADS) wall_density(const float4* __restrict__ fluid,
    const float4* __restrict__ wall, float* __restrict__ density, float radius)
{
    __shared__ float4 tile[THREADS];
    const int first = blockIdx.x * THREADS * EACH + threadIdx.x;
    const float reach = radius * radius;
    float x[EACH], y[EACH], z[EACH], sum[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const float4 p = fluid[first + k * THREADS];
        x[k] = p.x, y[k] = p.y, z[k] = p.z, sum[k] = 0.0f;
    }
    for (int base = 0; base < WALL; base += THREADS) {
        tile[threadIdx.x] = wall[base + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < THREADS; ++j) {
            const float4 q = tile[j];
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                const float dx = x[k] - q.x, dy = y[k] - q.y, dz = z[k] - q.z;
                float w = fmaf(-dx, dx, reach);
                w = fmaf(-dy, dy, w);
                w = fmaxf(fmaf(-dz, dz, w), 0.0f);
                sum[k] = fmaf(q.w * w, w * w, sum[k]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        density[first + k * THREADS] = sum[k];
}
