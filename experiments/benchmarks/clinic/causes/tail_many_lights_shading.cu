// Planted: all 4096 lights lie in 128 KB of shared memory, so one block fits a multiprocessor, and the
// picture makes 133 of them. Repair: 64 pixels a block, lights in tiles of 8 KB.
/* rooftree
[shape]
pixels = 136192
lights = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "position"
role = "input"
shape = ["pixels", 4]
[[buffer]]
name = "normal"
role = "input"
shape = ["pixels", 4]
[[buffer]]
name = "light"
role = "input"
shape = ["lights", 8]
[[buffer]]
name = "shaded"
role = "output"
shape = ["pixels", 4]
[cost]
bytes = "48 * pixels + 32 * lights"
flops = "26 * pixels * lights"
[[launch]]
kernel = "shade"
grid = ["pixels // 64 if REPAIRED else pixels // 1024"]
block = ["64 if REPAIRED else 1024"]
shared = "8192 if REPAIRED else 32 * lights"
args = ["position", "normal", "light", "shaded", "lights"]
*/
constexpr int THREADS = REPAIRED ? 64 : 1024, TILE = REPAIRED ? 256 : 4096;

extern "C" __global__ void __launch_bounds__(THREADS) shade(const float4* __restrict__ position,
    const float4* __restrict__ normal, const float4* __restrict__ light, float4* shaded, int lights)
{
    extern __shared__ float4 tile[];  // place and range, then colour
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const float4 p = position[i], n = normal[i];
    float red = 0.0f, green = 0.0f, blue = 0.0f;
    for (int base = 0; base < lights; base += TILE) {
        for (int k = threadIdx.x; k < 2 * TILE; k += THREADS)
            tile[k] = light[2 * base + k];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; ++k) {
            const float4 at = tile[2 * k], colour = tile[2 * k + 1];
            const float x = at.x - p.x, y = at.y - p.y, z = at.z - p.z;
            const float near = rsqrtf(x * x + y * y + z * z + 0.01f);
            const float facing = fmaxf(x * n.x + y * n.y + z * n.z, 0.0f);
            const float gain = facing * near * near * near;
            red += colour.x * gain, green += colour.y * gain, blue += colour.z * gain;
        }
        __syncthreads();
    }
    shaded[i] = make_float4(red, green, blue, 1.0f);
}
