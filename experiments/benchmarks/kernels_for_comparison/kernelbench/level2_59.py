import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

PRODUCT = 0  # tunable: 0, 1, 2, 4
BLOCK = 256  # tunable: 128, 256

CUDA = r"""
#define ROWS 4  // rows per thread

__device__ __forceinline__ float swish(float x, float scale)
{
    return x / (1.0f + expf(-x)) * scale;
}

// out = scale * swish(sum of the slices of `product` + bias); out may be product (one slice):
// each element is read and written by the same thread, reads first.
extern "C" __global__ void __launch_bounds__(BLOCK)
swish_vectors(const float* product, const float* bias, float* out, long long rows, int columns,
              int slices, int add_bias, float scale)
{
    const int vectors = columns >> 2;
    const int column = blockIdx.x * BLOCK + threadIdx.x;
    if (column >= vectors)
        return;
    const float4* product4 = reinterpret_cast<const float4*>(product);
    float4* out4 = reinterpret_cast<float4*>(out);
    float4 b = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (add_bias)
        b = reinterpret_cast<const float4*>(bias)[column];
    const long long slice = rows * vectors;

    for (long long first = (long long)blockIdx.y * ROWS; first < rows;
         first += (long long)gridDim.y * ROWS) {
        float4 v[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
            if (first + k < rows)
                v[k] = product4[(first + k) * vectors + column];
        for (int s = 1; s < slices; ++s) {
            float4 w[ROWS];
#pragma unroll
            for (int k = 0; k < ROWS; ++k)
                if (first + k < rows)
                    w[k] = product4[s * slice + (first + k) * vectors + column];
#pragma unroll
            for (int k = 0; k < ROWS; ++k)
                if (first + k < rows) {
                    v[k].x += w[k].x;
                    v[k].y += w[k].y;
                    v[k].z += w[k].z;
                    v[k].w += w[k].w;
                }
        }
#pragma unroll
        for (int k = 0; k < ROWS; ++k)
            if (first + k < rows)
                out4[(first + k) * vectors + column] =
                    make_float4(swish(v[k].x + b.x, scale), swish(v[k].y + b.y, scale),
                                swish(v[k].z + b.z, scale), swish(v[k].w + b.w, scale));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
swish_scalars(const float* product, const float* bias, float* out, long long rows, int columns,
              int slices, int add_bias, float scale)
{
    const long long count = rows * columns;
    const long long step = (long long)gridDim.x * BLOCK;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < count; i += step) {
        float v = product[i];
        for (int s = 1; s < slices; ++s)
            v += product[s * count + i];
        if (add_bias)
            v += bias[i % columns];
        out[i] = swish(v, scale);
    }
}
"""

kernels = compile_cuda(CUDA, (f"-DBLOCK={BLOCK}",))


def scaled_swish(product, bias, rows, columns, slices, add_bias, scale):
    """The epilogue over `slices` partial products of rows x columns, in place where there is one."""
    out = product
    if slices > 1:
        out = torch.empty((rows, columns), dtype=product.dtype, device=product.device)
    bias = bias.contiguous()
    arguments = (product, bias, out, rows, columns, slices, int(add_bias), float(scale))
    aligned = all(t.data_ptr() % 16 == 0 for t in (product, bias, out))
    if columns % 4 == 0 and aligned:
        across = (columns // 4 + BLOCK - 1) // BLOCK
        down = min((rows + 3) // 4, 65535)
        kernels.swish_vectors[(across, down), BLOCK](*arguments)
    else:
        blocks = min((rows * columns + BLOCK - 1) // BLOCK, 132 * 64)
        kernels.swish_scalars[blocks, BLOCK](*arguments)
    return out


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        weight, bias = self.matmul.weight, self.matmul.bias
        if x.dtype != torch.float32 or weight.dtype != torch.float32:
            raise TypeError("float32 only")
        columns, depth = weight.shape
        if x.dim() == 0 or x.shape[-1] != depth:
            raise ValueError("shapes do not fit")
        shape = (*x.shape[:-1], columns)
        if 0 in shape or depth == 0:
            raise ValueError("empty tensors are not supported")
        flat = x.contiguous().view(-1, depth)
        weight = weight.contiguous()
        rows = flat.shape[0]

        slices, add_bias = 1, True
        if PRODUCT == 0:
            product = torch.addmm(bias, flat, weight.t())
            add_bias = False
        elif PRODUCT == 1 or depth % PRODUCT != 0:
            product = torch.mm(flat, weight.t())
        else:
            slices = PRODUCT
            part = depth // slices
            left = flat.view(rows, slices, part).transpose(0, 1)
            right = weight.view(columns, slices, part).permute(1, 2, 0)
            product = torch.bmm(left, right)
        product = product.contiguous()
        out = scaled_swish(product, bias, rows, columns, slices, add_bias, self.scaling_factor)
        return out.view(shape)
