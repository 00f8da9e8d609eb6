// Planted: the red channel of pixels stored as 8 interleaved floats is read with a stride of 32
// bytes, one of eight values used. Repair: channels stored as planes.
/* rooftree
[shape]
n = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
shape = ["8 * n"]
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
extern "C" __global__ void brighten_red(const float* __restrict__ image, float* out)
{
    const int first = blockIdx.x * 1024 + threadIdx.x * 4;
    float red[4];
#if REPAIRED
    *(float4*)red = *(const float4*)&image[first];
#else
    for (int k = 0; k < 4; ++k)
        red[k] = image[(first + k) * 8];
#endif
    *(float4*)&out[first] = make_float4(red[0] * 1.2f + 0.1f, red[1] * 1.2f + 0.1f,
        red[2] * 1.2f + 0.1f, red[3] * 1.2f + 0.1f);
}
