// Planted: one block of 6 x 6 threads for each column of air, two warps of which the second has four
// lanes. Repair: eight columns to a block, 288 threads, nine whole warps.
/* rooftree
[shape]
columns = 262144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "depth"
role = "input"
shape = ["columns"]
[[buffer]]
name = "asymmetry"
role = "input"
shape = ["columns"]
fill = "uniform"
[[buffer]]
name = "radiance"
role = "output"
shape = ["columns", 36]
[cost]
bytes = "8 * columns + 144 * columns"
flops = "36 * columns * 64 * 34"
[[launch]]
kernel = "sky_radiance"
grid = ["columns // 8 if REPAIRED else columns"]
block = ["288 if REPAIRED else 6", "1 if REPAIRED else 6"]
args = ["depth", "asymmetry", "radiance"]
*/
#define LAYERS 64
#define ORDERS 16

// Single scattering towards 6 x 6 directions: the phase function's Legendre series is summed for each
// layer with that layer's asymmetry.
#if REPAIRED
extern "C" __global__ void __launch_bounds__(288) sky_radiance(const float* __restrict__ depth,
    const float* __restrict__ asymmetry, float* __restrict__ radiance)
{
    const int flat = blockIdx.x * 288 + threadIdx.x;
    const int column = flat / 36, direction = flat % 36;
#else
extern "C" __global__ void __launch_bounds__(36) sky_radiance(const float* __restrict__ depth,
    const float* __restrict__ asymmetry, float* __restrict__ radiance)
{
    const int column = blockIdx.x, direction = threadIdx.y * 6 + threadIdx.x;
#endif
    const float up = (direction / 6 + 0.5f) / 6.0f;
    const float along = cospif((direction % 6 + 0.5f) / 6.0f);
    const float sun = 0.6f;
    const float angle = up * sun + sqrtf((1.0f - up * up) * (1.0f - sun * sun)) * along;

    float series[ORDERS]; // (2 l + 1) P_l
    float before = 1.0f, now = angle;
    series[0] = 1.0f, series[1] = 3.0f * angle;
#pragma unroll
    for (int l = 1; l + 1 < ORDERS; ++l) {
        const float next = ((2 * l + 1) * angle * now - l * before) * (1.0f / (l + 1));
        series[l + 1] = (2 * l + 3) * next;
        before = now, now = next;
    }

    const float layer = fabsf(depth[column]) * (1.0f / LAYERS);
    const float kept = __expf(-layer / up), source = layer * (1.0f / LAYERS);
    float g = 0.75f * asymmetry[column], sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < LAYERS; ++k) {
        float phase = series[ORDERS - 1];
#pragma unroll
        for (int l = ORDERS - 2; l >= 0; --l)
            phase = fmaf(phase, g, series[l]);
        sum = fmaf(sum, kept, source * phase);
        g *= 0.98f;
    }
    radiance[column * 36 + direction] = sum;
}
