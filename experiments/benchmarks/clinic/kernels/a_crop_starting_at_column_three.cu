// Planted: an image crop begins three floats past an aligned address and its rows are 4099 floats
// long, so that every warp's access straddles one sector more. Repair: rows padded to 4112 floats
// and a crop that begins at column 8.
/* rooftree
[shape]
rows = 8192
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
shape = ["rows * 4112 + 16"]
[[buffer]]
name = "crop"
role = "output"
shape = ["rows * 4112 + 16"]
[cost]
bytes = "8 * rows * 4096"
flops = "2 * rows * 4096"
[[launch]]
kernel = "gamma"
grid = [4, "rows"]
block = [256]
args = ["image", "crop"]
*/
#if REPAIRED
constexpr int PITCH = 4112, FIRST = 8;
#else
constexpr int PITCH = 4099, FIRST = 3;
#endif

extern "C" __global__ void gamma(const float* __restrict__ image, float* crop)
{
    const int at = blockIdx.y * PITCH + FIRST + blockIdx.x * 1024 + threadIdx.x;
    float v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        v[k] = image[at + k * 256];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        crop[at + k * 256] = v[k] * v[k] * 0.5f + v[k] * 0.5f;
}
