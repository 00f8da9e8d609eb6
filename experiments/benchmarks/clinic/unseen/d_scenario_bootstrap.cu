// Planted: the decoded table keeps the 16 bytes of header that the scenario file begins with, so that
// every row of 64 bytes lies across three sectors. Repair: the header is left behind when the file is
// decoded, and a row is two sectors. Loads are of 16 bytes in both twins.
/* rooftree
[shape]
rows = 4194304
paths = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "file"
role = "input"
shape = ["4 + 16 * rows"]
[[buffer]]
name = "mean"
role = "output"
shape = ["paths", "16"]
[[workspace]]
name = "table"
size = "4 + 16 * rows"
[cost]
bytes = "4 * 16 * 64 * paths"
flops = "16 * 64 * paths"
[[launch]]
kernel = "decode"
grid = ["rows // 64"]
block = [256]
args = ["file", "table", { value = 0.01, type = "float32" }]
[[launch]]
kernel = "bootstrap"
grid = ["paths // 64"]
block = [256]
args = ["table", "mean"]
*/
constexpr int DRAWS = 64;
constexpr unsigned ROWS = 4194304;       // a power of two
constexpr int HEADER = 1;                // of the file, in float4: magic, version, rows, columns
constexpr int OFFSET = REPAIRED ? 0 : HEADER;

// Market scenarios of 16 risk factors a day, from percent.
extern "C" __global__ void __launch_bounds__(256) decode(const float4* __restrict__ file,
    float4* __restrict__ table, float scale)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 v = file[HEADER + i];
    table[OFFSET + i] = make_float4(scale * v.x, scale * v.y, scale * v.z, scale * v.w);
}

__device__ __forceinline__ unsigned draw(unsigned counter)
{
    unsigned h = counter * 0x9E3779B1u;
    h = (h ^ h >> 15) * 0x85EBCA77u;
    return (h ^ h >> 13) & (ROWS - 1);
}

// Bootstrap: each path draws days with replacement and takes the mean of every factor over them. Four
// neighbouring lanes share a path.
extern "C" __global__ void __launch_bounds__(256) bootstrap(const float4* __restrict__ table,
    float4* __restrict__ mean)
{
    const int i = blockIdx.x * 256 + threadIdx.x, path = i / 4, factor = i % 4;
    const float4* rows4 = table + OFFSET + factor;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
    for (int k = 0; k < DRAWS; ++k) {
        const float4 v = rows4[draw(path * DRAWS + k) * 4];
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    const float share = 1.0f / DRAWS;
    mean[i] = make_float4(share * sum.x, share * sum.y, share * sum.z, share * sum.w);
}
