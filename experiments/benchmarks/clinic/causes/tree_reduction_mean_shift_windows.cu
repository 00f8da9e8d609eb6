// Planted: a mean-shift tracker sums weight and both moments of its 32 x 32 window in a shared-memory tree of 1024 threads at
// each of twelve moves. Repair: 256 threads take four pixels each and sum by shuffles.
/* rooftree
[shape]
tracks = 8448
size = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "likeness"
role = "input"
shape = ["size", "size"]
[[buffer]]
name = "start"
role = "input"
fill = "uniform"
shape = ["tracks", 2]
[[buffer]]
name = "found"
role = "output"
shape = ["tracks", 2]
[cost]
bytes = "4 * size * size + 16 * tracks"
flops = "12 * 1024 * 7 * tracks"
[[launch]]
kernel = "mean_shift"
grid = ["tracks"]
block = ["256 if REPAIRED else 1024"]
args = ["likeness", "start", "found", "size"]
*/
constexpr int PIXELS = REPAIRED ? 4 : 1, THREADS = 1024 / PIXELS;

__device__ float3 add(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }

extern "C" __global__ void mean_shift(const float* __restrict__ likeness, const float2* __restrict__ start,
    float2* __restrict__ found, int size)
{
    __shared__ float3 sums[REPAIRED ? 8 : THREADS];
    const int t = threadIdx.x;
    const float most = size - 32.0f;
    float2 corner = start[blockIdx.x];
    corner = make_float2((0.5f + 0.5f * corner.x) * most, (0.5f + 0.5f * corner.y) * most);
    for (int move = 0; move < 12; ++move) {
        float3 sum = make_float3(0.0f, 0.0f, 0.0f);
        for (int k = 0; k < PIXELS; ++k) {
            const int x = t % 32, y = t / 32 + k * (32 / PIXELS);
            const float w = 1e-3f + fabsf(likeness[((int)corner.y + y) * size + (int)corner.x + x]);
            sum = add(sum, make_float3(w, w * (x - 15.5f), w * (y - 15.5f)));
        }
#if REPAIRED
        for (int d = 16; d > 0; d /= 2)
            sum = add(sum, make_float3(__shfl_xor_sync(~0u, sum.x, d), __shfl_xor_sync(~0u, sum.y, d),
                __shfl_xor_sync(~0u, sum.z, d)));
        if (t % 32 == 0)
            sums[t / 32] = sum;
        __syncthreads();
        sum = sums[0];
        for (int warp = 1; warp < 8; ++warp)
            sum = add(sum, sums[warp]);
#else
        sums[t] = sum;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (t < half)
                sums[t] = add(sums[t], sums[t + half]);
            __syncthreads();
        }
        sum = sums[0];
#endif
        __syncthreads();
        corner.x = fminf(fmaxf(corner.x + __fdividef(sum.y, sum.x), 0.0f), most);
        corner.y = fminf(fmaxf(corner.y + __fdividef(sum.z, sum.x), 0.0f), most);
    }
    if (t == 0)
        found[blockIdx.x] = corner;
}
