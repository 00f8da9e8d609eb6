import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 256  # tunable: 128, 256, 512
UNROLL = 4  # tunable: 2, 4, 8

CUDA = r"""
__device__ __forceinline__ float gelu(float x)
{
    // 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)),  2u = 2 sqrt(2/pi) (x + 0.044715 x^3)
    const float twice = x * fmaf(0.0713548162726f * x, x, 1.5957691216057308f);
    return __fdividef(x, 1.0f + __expf(-twice));
}

__device__ __forceinline__ float4 gelu4(float4 v)
{
    return make_float4(gelu(v.x), gelu(v.y), gelu(v.z), gelu(v.w));
}

// Both pointers aligned to 16 bytes. Every block does BLOCK * UNROLL vectors, block 0 the tail too.
extern "C" __global__ void __launch_bounds__(BLOCK)
gelu_vectors(const float* __restrict__ in, float* __restrict__ out, long long count)
{
    const long long vectors = count >> 2;
    const float4* __restrict__ in4 = reinterpret_cast<const float4*>(in);
    float4* __restrict__ out4 = reinterpret_cast<float4*>(out);
    const long long base = (long long)blockIdx.x * (BLOCK * UNROLL);
    const long long first = base + threadIdx.x;

    float4 v[UNROLL];
    if (base + BLOCK * UNROLL <= vectors) {
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            v[k] = __ldcs(in4 + first + k * BLOCK);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            __stcs(out4 + first + k * BLOCK, gelu4(v[k]));
    } else {
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (first + k * BLOCK < vectors)
                v[k] = __ldcs(in4 + first + k * BLOCK);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            if (first + k * BLOCK < vectors)
                __stcs(out4 + first + k * BLOCK, gelu4(v[k]));
    }

    if (blockIdx.x == 0) {
        const long long i = (vectors << 2) + threadIdx.x;  // at most 3 elements
        if (i < count)
            out[i] = gelu(in[i]);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
gelu_scalars(const float* __restrict__ in, float* __restrict__ out, long long count)
{
    const long long step = (long long)gridDim.x * BLOCK;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < count; i += step)
        out[i] = gelu(in[i]);
}
"""

kernels = compile_cuda(CUDA, (f"-DBLOCK={BLOCK}", f"-DUNROLL={UNROLL}"))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        if x.dtype != torch.float32:
            raise TypeError("float32 only")
        x = x.contiguous()
        out = torch.empty_like(x)
        count = x.numel()
        if count == 0:
            return out
        if x.data_ptr() % 16 == 0 and out.data_ptr() % 16 == 0:
            per_block = BLOCK * UNROLL
            blocks = max(1, (count // 4 + per_block - 1) // per_block)
            kernels.gelu_vectors[blocks, BLOCK](x, out, count)
        else:
            blocks = min((count + BLOCK - 1) // BLOCK, 132 * 64)
            kernels.gelu_scalars[blocks, BLOCK](x, out, count)
        return out
