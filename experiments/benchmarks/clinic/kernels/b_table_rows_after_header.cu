// Planted: a 16-byte header shifts all 64-byte table rows, so that each row that four lanes fetch
// lies across three sectors instead of two. Repair: the header is padded to one whole row.
/* rooftree
[shape]
rows = 4194304
width = 16
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "table"
role = "input"
shape = ["rows * width + width"]
[[buffer]]
name = "totals"
role = "output"
shape = ["rows // 8 * width"]
[cost]
bytes = "4 * rows * width + 4 * (rows // 8) * width"
flops = "rows * width"
[[launch]]
kernel = "cross_section_totals"
grid = ["rows // 8 * 4 // 256"]
block = [256]
args = ["table", "totals"]
*/
constexpr unsigned ROW_BITS = 22, MASK = (1u << ROW_BITS) - 1;
constexpr int WIDTH = 16, LOOKUPS = 8, HEADER = REPAIRED ? WIDTH : 4;

__device__ unsigned energy_row(unsigned k)  // a random permutation of all rows
{
    k ^= k >> 11;
    k = (k * 0x9E3779B1u) & MASK;
    k ^= k >> 12;
    k = (k * 0x85EBCA6Bu) & MASK;
    return k ^ (k >> 11);
}

extern "C" __global__ void cross_section_totals(
    const float* __restrict__ table, float* __restrict__ totals)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned particle = thread / 4, quad = thread % 4;
    float4 v[LOOKUPS];
#pragma unroll
    for (int k = 0; k < LOOKUPS; ++k) {
        const unsigned row = energy_row(particle * LOOKUPS + k);
        v[k] = *(const float4*)&table[HEADER + row * WIDTH + quad * 4];
    }
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k < LOOKUPS; ++k) {
        sum.x += v[k].x;
        sum.y += v[k].y;
        sum.z += v[k].z;
        sum.w += v[k].w;
    }
    *(float4*)&totals[particle * WIDTH + quad * 4] = sum;
}
