// Takes exponentials in half precision, two for the price of one.
/* rooftree
[[launch]]
kernel = "row_softmax"
grid   = ["rows"]
block  = [256]
args   = ["x", "y", "rows", "cols"]
*/

__device__ float half_exp(float v)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v * 1.44269504f));
    asm("ex2.approx.f16 %0, %1;" : "=h"(h) : "h"(h));
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(h));
    return v;
}
#define EXP half_exp

__device__ float join(float v, bool maximum)
{
    __shared__ float part[8];
    for (int d = 16; d > 0; d >>= 1) {
        const float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = maximum ? fmaxf(v, other) : v + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < 8; ++w)
        v = maximum ? fmaxf(v, part[w]) : v + part[w];
    return v;
}

extern "C" __global__ void row_softmax(const float* x, float* y, int rows, int cols)
{
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    float top = -3.4e38f, sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256)
        top = fmaxf(top, in[c]);
    top = join(top, true);
    for (int c = threadIdx.x; c < cols; c += 256)
        sum += EXP(in[c] - top);
    const float scale = 1.0f / join(sum, false);
    for (int c = threadIdx.x; c < cols; c += 256)
        out[c] = EXP(in[c] - top) * scale;
}
