// Planted: two block-wide tree reductions per row of 1024, each with ten barriers for ten
// additions. Repair: warp shuffles, a row per warp, no barrier.
/* rooftree
[shape]
rows = 65536
cols = 1024
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "y"
role = "output"
shape = ["rows", "cols"]
[cost]
bytes = "8 * rows * cols"
flops = "5 * rows * cols"
[[launch]]
kernel = "softmax"
grid = ["rows // 8 if REPAIRED else rows"]
block = ["256 if REPAIRED else 1024"]
args = ["x", "y"]
*/
#if REPAIRED
extern "C" __global__ void softmax(const float4* __restrict__ x, float4* y)
{
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float4 v[8];
    float top = -1e30f, sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        v[k] = x[row * 256 + k * 32 + lane];
        top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    }
    for (int d = 16; d > 0; d /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        v[k] = make_float4(__expf(v[k].x - top), __expf(v[k].y - top), __expf(v[k].z - top),
            __expf(v[k].w - top));
        sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    const float r = 1.0f / sum;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        y[row * 256 + k * 32 + lane] = make_float4(v[k].x * r, v[k].y * r, v[k].z * r, v[k].w * r);
}
#else
extern "C" __global__ void softmax(const float* __restrict__ x, float* y)
{
    __shared__ float scratch[1024];
    const int t = threadIdx.x, i = blockIdx.x * 1024 + t;
    const float v = x[i];
    scratch[t] = v;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (t < half)
            scratch[t] = fmaxf(scratch[t], scratch[t + half]);
        __syncthreads();
    }
    const float e = __expf(v - scratch[0]);
    __syncthreads();
    scratch[t] = e;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (t < half)
            scratch[t] += scratch[t + half];
        __syncthreads();
    }
    y[i] = e / scratch[0];
}
#endif
