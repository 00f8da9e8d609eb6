// Planted: the gated activation is written out and read back by the RMS norm. Repair: the norm's block makes
// its row's activations itself and keeps them in registers.
/* rooftree
[shape]
rows = 12288
cols = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "gate"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "up"
role = "input"
shape = ["rows", "cols"]
[[buffer]]
name = "y"
role = "output"
shape = ["rows", "cols"]
[[workspace]]
name = "hidden"
size = "rows * cols"
[cost]
bytes = "12 * rows * cols"
flops = "9 * rows * cols"
[[launch]]
kernel = "swiglu"
grid = ["rows * cols // 1024"]
block = [256]
args = ["gate", "up", "hidden"]
when = "REPAIRED == 0"
[[launch]]
kernel = "rms_norm"
grid = ["rows"]
block = [256]
args = ["hidden", "hidden", "y"]
when = "REPAIRED == 0"
[[launch]]
kernel = "rms_norm"
grid = ["rows"]
block = [256]
args = ["gate", "up", "y"]
when = "REPAIRED == 1"
*/
constexpr int COLS4 = 1024, EACH = 4;  // float4s of a row, and of a thread

__device__ float silu(float g) { return __fdividef(g, 1.0f + __expf(-g)); }
__device__ float4 gated(float4 g, float4 u)
{
    return make_float4(silu(g.x) * u.x, silu(g.y) * u.y, silu(g.z) * u.z, silu(g.w) * u.w);
}
__device__ float block_sum(float v)
{
    __shared__ float part[8];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3] + part[4] + part[5] + part[6] + part[7];
}

extern "C" __global__ void swiglu(
    const float4* __restrict__ gate, const float4* __restrict__ up, float4* __restrict__ hidden)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    hidden[i] = gated(gate[i], up[i]);
}
extern "C" __global__ void rms_norm(
    const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ y)
{
    const int first = blockIdx.x * COLS4 + threadIdx.x;
    float4 h[EACH];
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        h[k] = REPAIRED ? gated(a[first + k * 256], b[first + k * 256]) : a[first + k * 256];
        squares += h[k].x * h[k].x + h[k].y * h[k].y + h[k].z * h[k].z + h[k].w * h[k].w;
    }
    const float s = rsqrtf(block_sum(squares) / (4 * COLS4) + 1e-5f);
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        y[first + k * 256] = make_float4(s * h[k].x, s * h[k].y, s * h[k].z, s * h[k].w);
}
