// Planted: for the density around its cell each thread fetches all 81 cells of the 9 x 9 box from L1.
// Repair: a thread walks down eight rows of four columns, nine rows' sums staying in registers.
/* rooftree
[shape]
width = 8192
height = 8192
pitch = 8200
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "biomass"
role = "input"
fill = "uniform"
shape = ["height + 8", "pitch"]
[[buffer]]
name = "next"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "4 * (height + 8) * pitch + 4 * width * height"
flops = "8 * width * height"
[[launch]]
kernel = "grow"
grid = ["width // (128 if REPAIRED else 32)", "height // (64 if REPAIRED else 8)"]
block = [32, 8]
args = ["biomass", "next", "width", "pitch"]
*/
__device__ float growth(float sum)
{
    const float density = sum * (1.0f / 81);
    return density * density * (3.0f - 2.0f * density);
}

extern "C" __global__ void grow(const float* __restrict__ biomass, float* next, int width, int pitch)
{
#if REPAIRED
    const int x = (blockIdx.x * 32 + threadIdx.x) * 4, y = (blockIdx.y * 8 + threadIdx.y) * 8;
    float line[16][4], box[4] = {};
#pragma unroll
    for (int r = 0; r < 16; ++r) {
        const float4* from = (const float4*)(biomass + (y + r) * pitch + x);
        const float4 a = from[0], b = from[1], c = from[2];
        line[r][0] = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w + c.x;
        line[r][1] = line[r][0] - a.x + c.y;
        line[r][2] = line[r][1] - a.y + c.z;
        line[r][3] = line[r][2] - a.z + c.w;
#pragma unroll
        for (int k = 0; k < 4; ++k) box[k] += line[r][k] - (r > 8 ? line[r > 8 ? r - 9 : 0][k] : 0.0f);
        if (r >= 8)
            *(float4*)(next + (y + r - 8) * width + x) =
                make_float4(growth(box[0]), growth(box[1]), growth(box[2]), growth(box[3]));
    }
#else
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float box = 0.0f;
#pragma unroll
    for (int r = 0; r < 9; ++r)
#pragma unroll
        for (int c = 0; c < 9; ++c) box += biomass[(y + r) * pitch + x + c];
    next[y * width + x] = growth(box);
#endif
}
