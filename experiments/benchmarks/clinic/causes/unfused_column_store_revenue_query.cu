// Planted: a query runs operator by operator: the selection and the revenue column are written to device memory
// and read back by the sum. Repair: one kernel for filter, expression and sum.
/* rooftree
[shape]
n = 50331648
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "day"
role = "input"
dtype = "int32"
shape = ["n"]
[[buffer]]
name = "price"
role = "input"
shape = ["n"]
[[buffer]]
name = "discount"
role = "input"
shape = ["n"]
[[buffer]]
name = "sums"
role = "output"
shape = ["n // 4096"]
[[workspace]]
name = "selected"
dtype = "int32"
size = "n"
[[workspace]]
name = "revenue"
size = "n"
[cost]
bytes = "12 * n"
flops = "4 * n"
[[launch]]
kernel = "select_days"
grid = ["n // 1024"]
block = [256]
args = ["day", "selected"]
when = "REPAIRED == 0"
[[launch]]
kernel = "project_revenue"
grid = ["n // 1024"]
block = [256]
args = ["price", "discount", "revenue"]
when = "REPAIRED == 0"
[[launch]]
kernel = "sum_selected"
grid = ["n // 4096"]
block = [256]
args = ["selected", "revenue", "sums"]
when = "REPAIRED == 0"
[[launch]]
kernel = "query"
grid = ["n // 4096"]
block = [256]
args = ["day", "price", "discount", "sums"]
when = "REPAIRED == 1"
*/
#define INDEX (blockIdx.x * 256 + threadIdx.x)
__device__ int in_year(int day) { return (unsigned)day % 2557u - 731u < 365u; }
__device__ int4 in_year(int4 d) { return make_int4(in_year(d.x), in_year(d.y), in_year(d.z), in_year(d.w)); }
__device__ float4 revenue_of(float4 p, float4 d)
{
    return make_float4(p.x * (1 - d.x), p.y * (1 - d.y), p.z * (1 - d.z), p.w * (1 - d.w));
}
__device__ float taken(int4 s, float4 r)
{
    return (s.x ? r.x : 0.0f) + (s.y ? r.y : 0.0f) + (s.z ? r.z : 0.0f) + (s.w ? r.w : 0.0f);
}
__device__ void add_up(float v, float* sum)  // over the block
{
    __shared__ float part[8];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) *sum = part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}
extern "C" __global__ void select_days(const int4* day, int4* selected) { selected[INDEX] = in_year(day[INDEX]); }
extern "C" __global__ void project_revenue(const float4* price, const float4* discount, float4* revenue)
{
    revenue[INDEX] = revenue_of(price[INDEX], discount[INDEX]);
}
extern "C" __global__ void sum_selected(const int4* __restrict__ selected, const float4* __restrict__ revenue, float* sums)
{
    float sum = 0.0f;
#pragma unroll
    for (int k = 0, i = blockIdx.x * 1024 + threadIdx.x; k < 4; ++k, i += 256) sum += taken(selected[i], revenue[i]);
    add_up(sum, sums + blockIdx.x);
}
extern "C" __global__ void query(const int4* __restrict__ day, const float4* __restrict__ price, const float4* __restrict__ discount, float* sums)
{
    float sum = 0.0f;
#pragma unroll
    for (int k = 0, i = blockIdx.x * 1024 + threadIdx.x; k < 4; ++k, i += 256)
        sum += taken(in_year(day[i]), revenue_of(price[i], discount[i]));
    add_up(sum, sums + blockIdx.x);
}
