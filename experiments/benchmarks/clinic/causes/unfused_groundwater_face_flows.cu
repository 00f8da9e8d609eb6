// Planted: flows through the cells' faces are stored in two arrays, which the balance kernel reads back.
// Repair: each cell works out its four faces' flows itself.
/* rooftree
[shape]
nx = 8192
ny = 6144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "head"
role = "input"
shape = ["ny", "nx"]
[[buffer]]
name = "trans"
role = "input"
shape = ["ny", "nx"]
[[buffer]]
name = "next"
role = "output"
shape = ["ny", "nx"]
[[workspace]]
name = "east"
size = "nx * ny"
[[workspace]]
name = "south"
size = "nx * ny"
[cost]
bytes = "12 * nx * ny"
flops = "16 * nx * ny"
[[launch]]
kernel = "face_flows"
grid = ["nx // 1024", "ny"]
block = [256]
args = ["head", "trans", "east", "south", "nx", "ny"]
when = "REPAIRED == 0"
[[launch]]
kernel = "balance"
grid = ["nx // 1024", "ny"]
block = [256]
args = ["head", "east", "south", "next", "nx", "ny"]
when = "REPAIRED == 0"
[[launch]]
kernel = "flow_and_balance"
grid = ["nx // 1024", "ny"]
block = [256]
args = ["head", "trans", "next", "nx", "ny"]
when = "REPAIRED == 1"
*/
#define CELLS const int x = 4 * (blockIdx.x * 256 + threadIdx.x), y = blockIdx.y, i = y * nx + x
__device__ float4 wide(const float* p, int i) { return *(const float4*)(p + i); }
__device__ float flow(float h, float t, float h2, float t2) { return 0.5f * (t + t2) * (h2 - h); }
__device__ float4 flow(float4 h, float4 t, float4 g, float4 s)
{
    return make_float4(flow(h.x, t.x, g.x, s.x), flow(h.y, t.y, g.y, s.y), flow(h.z, t.z, g.z, s.z), flow(h.w, t.w, g.w, s.w));
}
// The value next to a lane's four: a neighbouring lane's, at the warp's ends from memory.
__device__ float left(const float* p, float last, int i, bool wall)
{
    const float v = __shfl_up_sync(~0u, last, 1);
    return threadIdx.x % 32 != 0 ? v : wall ? 0.0f : p[i - 1];
}
__device__ float right(const float* p, float first, int i, bool wall)
{
    const float v = __shfl_down_sync(~0u, first, 1);
    return threadIdx.x % 32 != 31 ? v : wall ? 0.0f : p[i + 4];
}
__device__ float4 eastward(const float* h, const float* t, float4 a, float4 b, int i, bool wall)
{
    const float h4 = right(h, a.x, i, wall), t4 = right(t, b.x, i, wall);
    return make_float4(flow(a.x, b.x, a.y, b.y), flow(a.y, b.y, a.z, b.z), flow(a.z, b.z, a.w, b.w),
                       wall ? 0.0f : flow(a.w, b.w, h4, t4));
}
__device__ float4 stepped(float4 h, float w, float4 e, float4 n, float4 s)
{
    return make_float4(h.x + 0.1f * (e.x - w + s.x - n.x), h.y + 0.1f * (e.y - e.x + s.y - n.y),
                       h.z + 0.1f * (e.z - e.y + s.z - n.z), h.w + 0.1f * (e.w - e.z + s.w - n.w));
}
extern "C" __global__ void face_flows(const float* __restrict__ head, const float* __restrict__ trans, float* east, float* south, int nx, int ny)
{
    CELLS;
    const float4 h = wide(head, i), t = wide(trans, i);
    *(float4*)(east + i) = eastward(head, trans, h, t, i, x + 4 == nx);
    *(float4*)(south + i) = y + 1 == ny ? float4{} : flow(h, t, wide(head, i + nx), wide(trans, i + nx));
}
extern "C" __global__ void balance(const float* __restrict__ head, const float* __restrict__ east, const float* __restrict__ south, float* next, int nx, int ny)
{
    CELLS;
    const float4 e = wide(east, i);
    *(float4*)(next + i) = stepped(wide(head, i), left(east, e.w, i, x == 0), e, y == 0 ? float4{} : wide(south, i - nx), wide(south, i));
}
extern "C" __global__ void flow_and_balance(const float* __restrict__ head, const float* __restrict__ trans, float* next, int nx, int ny)
{
    CELLS;
    const float4 h = wide(head, i), t = wide(trans, i);
    const float h0 = left(head, h.w, i, x == 0), t0 = left(trans, t.w, i, x == 0);
    const float west = x == 0 ? 0.0f : flow(h0, t0, h.x, t.x);
    const float4 n = y == 0 ? float4{} : flow(wide(head, i - nx), wide(trans, i - nx), h, t);
    const float4 s = y + 1 == ny ? float4{} : flow(h, t, wide(head, i + nx), wide(trans, i + nx));
    *(float4*)(next + i) = stepped(h, west, eastward(head, trans, h, t, i, x + 4 == nx), n, s);
}
