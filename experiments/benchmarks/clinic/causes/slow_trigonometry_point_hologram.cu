// Planted: light of 633 nm over 200 mm is two million radians, and sincosf gets them all for every
// point and pixel. Repair: the path in wavelengths, less its whole number, by one exact fmaf.
/* rooftree
[shape]
width = 1024
height = 1024
points = 64
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "cloud"
role = "input"
shape = ["points", 4]
[[buffer]]
name = "field"
role = "output"
shape = ["height", "width", 2]
[cost]
bytes = "8 * width * height"
flops = "32 * points * width * height"
[[launch]]
kernel = "hologram"
grid = ["width // 256", "height"]
block = [256]
args = ["cloud", "field"]
*/
constexpr int POINTS = 64;
__device__ float2 wave(float path)  // in millimetres
{
    constexpr float PER_MM = 1579.7788f, TURN = 6.2831853f;
    float2 w;
#if REPAIRED
    const float whole = (path * PER_MM + 12582912.0f) - 12582912.0f;
    sincosf(TURN * fmaf(path, PER_MM, -whole), &w.y, &w.x);
#else
    sincosf(TURN * PER_MM * path, &w.y, &w.x);
#endif
    return w;
}
extern "C" __global__ void hologram(const float4* __restrict__ cloud, float2* __restrict__ field)
{
    __shared__ float4 source[POINTS];
    if (threadIdx.x < POINTS) {
        const float4 p = cloud[threadIdx.x];
        const float depth = 200.0f + 5.0f * fminf(fmaxf(p.z, -9.0f), 9.0f);
        source[threadIdx.x] = make_float4(4.0f * p.x, 4.0f * p.y, depth, 0.5f / depth);
    }
    __syncthreads();
    const int column = blockIdx.x * 256 + threadIdx.x;
    const float x = 0.008f * (column - 512), y = 0.008f * ((int)blockIdx.y - 512);
    float2 sum = {};
    for (int k = 0; k < POINTS; ++k) {
        const float4 s = source[k];
        const float dx = x - s.x, dy = y - s.y;
        const float2 w = wave(fmaf(dx * dx + dy * dy, s.w, s.z));  // the Fresnel path
        sum.x += w.x, sum.y += w.y;
    }
    field[blockIdx.y * 1024 + column] = sum;
}
