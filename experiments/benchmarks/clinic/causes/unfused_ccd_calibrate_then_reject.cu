// Planted: calibrated exposures go to device memory and come back for the cosmic-ray test, which looks at four
// neighbours. Repair: a block calibrates its tile with a rim into shared memory and tests it there.
/* rooftree
[shape]
frames = 48
height = 1024
width = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "raw"
role = "input"
shape = ["frames", "height", "width"]
[[buffer]]
name = "dark"
role = "input"
shape = ["height", "width"]
[[buffer]]
name = "gain"
role = "input"
shape = ["height", "width"]
[[buffer]]
name = "clean"
role = "output"
shape = ["frames", "height", "width"]
[[workspace]]
name = "calibrated"
size = "frames * height * width"
[cost]
bytes = "8 * (frames + 1) * height * width"
flops = "9 * frames * height * width"
[[launch]]
kernel = "calibrate"
grid = ["height * width // 1024", "frames"]
block = [256]
args = ["raw", "dark", "gain", "calibrated"]
when = "REPAIRED == 0"
[[launch]]
kernel = "reject_rays"
grid = ["width // 128", "height // 8", "frames"]
block = [32, 8]
args = ["calibrated", "clean"]
when = "REPAIRED == 0"
[[launch]]
kernel = "calibrate_and_reject"
grid = ["width // 128", "height // 16", "frames"]
block = [32, 8]
args = ["raw", "dark", "gain", "clean"]
when = "REPAIRED == 1"
*/
constexpr int W4 = 512, H = 1024, ROWS = 16, PITCH = 34;  // widths in float4s
__device__ float4 signal(float4 r, float4 d, float4 g)
{
    return make_float4((r.x - d.x) * g.x, (r.y - d.y) * g.y, (r.z - d.z) * g.z, (r.w - d.w) * g.w);
}
__device__ float kept(float c, float l, float r, float u, float d)
{
    const float mean = 0.25f * (l + r + u + d);
    return c - mean > 5.0f * (0.2f + fabsf(mean)) ? mean : c;
}
__device__ float4 tested(const float4* at, int pitch, int x, int y)  // the detector's rim stays as it is
{
    const float4 c = *at;
    if (y == 0 || y == H - 1) return c;
    const float4 u = at[-pitch], d = at[pitch];
    float l = __shfl_up_sync(~0u, c.w, 1), r = __shfl_down_sync(~0u, c.x, 1);  // a warp is along x
    if (threadIdx.x == 0) l = x == 0 ? 0.0f : at[-1].w;
    if (threadIdx.x == 31) r = x == W4 - 1 ? 0.0f : at[1].x;
    return make_float4(x == 0 ? c.x : kept(c.x, l, c.y, u.x, d.x), kept(c.y, c.x, c.z, u.y, d.y),
                       kept(c.z, c.y, c.w, u.z, d.z), x == W4 - 1 ? c.w : kept(c.w, c.z, r, u.w, d.w));
}
extern "C" __global__ void calibrate(const float4* raw, const float4* dark, const float4* gain, float4* calibrated)
{
    const int pixel = blockIdx.x * 256 + threadIdx.x, i = blockIdx.y * (W4 * H) + pixel;
    calibrated[i] = signal(raw[i], dark[pixel], gain[pixel]);
}
extern "C" __global__ void reject_rays(const float4* __restrict__ calibrated, float4* clean)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const int i = (blockIdx.z * H + y) * W4 + x;
    clean[i] = tested(calibrated + i, W4, x, y);
}
extern "C" __global__ void calibrate_and_reject(
    const float4* __restrict__ raw, const float4* __restrict__ dark, const float4* __restrict__ gain, float4* clean)
{
    __shared__ float4 tile[(ROWS + 2) * PITCH];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * ROWS, frame = blockIdx.z * (W4 * H);
#pragma unroll
    for (int k = threadIdx.y * 32 + threadIdx.x; k < (ROWS + 2) * PITCH; k += 256) {
        const int y = min(max(y0 + k / PITCH - 1, 0), H - 1), x = min(max(x0 + k % PITCH - 1, 0), W4 - 1);
        tile[k] = signal(raw[frame + y * W4 + x], dark[y * W4 + x], gain[y * W4 + x]);
    }
    __syncthreads();
    for (int r = threadIdx.y; r < ROWS; r += 8)
        clean[frame + (y0 + r) * W4 + x0 + threadIdx.x] =
            tested(tile + (r + 1) * PITCH + threadIdx.x + 1, PITCH, x0 + threadIdx.x, y0 + r);
}
