// Planted: the red channel of an RGBA float image is read pixel by pixel, a stride of 16 bytes from
// lane to lane, so that a quarter of every sector is used. Repair: channels stored as planes.
/* rooftree
[shape]
n = 25165824
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
shape = ["4 * n"]
[[buffer]]
name = "out"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "2 * n"
[[launch]]
kernel = "brighten_red"
grid = ["n // 1024"]
block = [256]
args = ["image", "out"]
*/
extern "C" __global__ void brighten_red(const float* __restrict__ image, float* __restrict__ out)
{
    constexpr int STRIDE = REPAIRED ? 1 : 4;
    const int first = blockIdx.x * 1024 + threadIdx.x;
    float red[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        red[k] = image[(first + k * 256) * STRIDE];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        out[first + k * 256] = red[k] * 1.2f + 0.1f;
}
