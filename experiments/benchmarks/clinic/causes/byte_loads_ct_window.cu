// Planted: a thread loads one voxel of two bytes and stores a grey level of one. Repair: a thread loads
// eight voxels as one uint4 and stores their grey levels as one uint2.
/* rooftree
[shape]
voxels = 167772160
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "hounsfield"
role = "input"
dtype = "uint8"
shape = ["voxels", 2]
[[buffer]]
name = "grey"
role = "output"
dtype = "uint8"
shape = ["voxels"]
[cost]
bytes = "3 * voxels"
flops = "4 * voxels"
math = "int32"
[[launch]]
kernel = "soft_tissue_window"
grid = ["voxels // (2048 if REPAIRED else 256)"]
block = [256]
args = ["hounsfield", "grey"]
*/
__device__ unsigned level(int hu)  // -160 to 240 HU onto 0 to 255
{
    return unsigned(min(max(hu + 160, 0), 400) * 1306) >> 11;
}

#if REPAIRED
__device__ unsigned pair(unsigned two)
{
    return level(short(two & 0xffff)) | level(int(two) >> 16) << 8;
}

extern "C" __global__ void soft_tissue_window(const uint4* __restrict__ hounsfield, uint2* grey)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const uint4 v = hounsfield[i];
    grey[i] = make_uint2(pair(v.x) | pair(v.y) << 16, pair(v.z) | pair(v.w) << 16);
}
#else
extern "C" __global__ void soft_tissue_window(const short* __restrict__ hounsfield, unsigned char* grey)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    grey[i] = level(hounsfield[i]);
}
#endif
