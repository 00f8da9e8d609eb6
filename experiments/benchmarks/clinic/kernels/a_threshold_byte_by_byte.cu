// Planted: each thread thresholds one byte of an image. Repair: sixteen bytes per thread in one
// 128-bit access, four at a time with a byte-wise comparison.
/* rooftree
[shape]
n = 134217728
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "image"
role = "input"
dtype = "uint8"
shape = ["n"]
[[buffer]]
name = "mask"
role = "output"
dtype = "uint8"
shape = ["n"]
[cost]
bytes = "2 * n"
flops = "n"
math = "int32"
[[launch]]
kernel = "threshold"
grid = ["n // 4096 if REPAIRED else n // 256"]
block = [256]
args = ["image", "mask"]
*/
typedef unsigned int u32;

extern "C" __global__ void threshold(const unsigned char* __restrict__ image, unsigned char* mask)
{
#if REPAIRED
    const int i = blockIdx.x * 256 + threadIdx.x;
    uint4 v = ((const uint4*)image)[i];
    v.x = __vcmpgtu4(v.x, 0x07070707u);
    v.y = __vcmpgtu4(v.y, 0x07070707u);
    v.z = __vcmpgtu4(v.z, 0x07070707u);
    v.w = __vcmpgtu4(v.w, 0x07070707u);
    ((uint4*)mask)[i] = v;
#else
    const int i = blockIdx.x * 256 + threadIdx.x;
    mask[i] = image[i] > 7 ? 255 : 0;
#endif
}
