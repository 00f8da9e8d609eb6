import torch
from torch import nn

from codegen.torch_cuda import compile_cuda

BLOCK = 256  # tunable: 128, 256, 512

CUDA = r"""
#define WARPS (BLOCK / 32)
#define FULL 0xffffffffu

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

// What to subtract: the maximum, but never -inf, because -inf - -inf is NaN.
__device__ __forceinline__ float reference(float maximum)
{
    return maximum == minus_infinity() ? 0.0f : maximum;
}

// Adds COUNT values to the running (maximum, sum of exp(value - maximum)).
template <int COUNT>
__device__ __forceinline__ void absorb(const float (&v)[COUNT], float& maximum, float& sum)
{
    float top[4] = {maximum, maximum, maximum, maximum};
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        top[i & 3] = fmaxf(top[i & 3], v[i]);
    const float now = fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3]));
    const float ref = reference(now);
    float part[4] = {sum * __expf(maximum - ref), 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        part[i & 3] += __expf(v[i] - ref);
    sum = (part[0] + part[1]) + (part[2] + part[3]);
    maximum = now;
}

template <bool VECTORS>
__device__ __forceinline__ void read_row(const float* __restrict__ row, int columns, int lane,
                                         float& maximum, float& sum)
{
    if (VECTORS) {
        const float4* __restrict__ row4 = reinterpret_cast<const float4*>(row);
        const int vectors = columns >> 2;
        int base = 0;
        for (; base <= vectors - 256; base += 256) {
            float4 q[8];
#pragma unroll
            for (int k = 0; k < 8; ++k)
                q[k] = __ldcs(row4 + base + k * 32 + lane);
            float v[32];
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                v[4 * k] = q[k].x;
                v[4 * k + 1] = q[k].y;
                v[4 * k + 2] = q[k].z;
                v[4 * k + 3] = q[k].w;
            }
            absorb<32>(v, maximum, sum);
        }
        for (; base < vectors; base += 32) {
            if (base + lane < vectors) {
                const float4 q = __ldcs(row4 + base + lane);
                const float v[4] = {q.x, q.y, q.z, q.w};
                absorb<4>(v, maximum, sum);
            }
        }
    } else {
        int base = 0;
        for (; base <= columns - 512; base += 512) {
            float v[16];
#pragma unroll
            for (int k = 0; k < 16; ++k)
                v[k] = __ldcs(row + base + k * 32 + lane);
            absorb<16>(v, maximum, sum);
        }
        for (; base < columns; base += 32) {
            if (base + lane < columns) {
                const float v[1] = {__ldcs(row + base + lane)};
                absorb<1>(v, maximum, sum);
            }
        }
    }
}

// One warp per row; every block leaves the sum of its rows' losses and how many of them count.
template <bool VECTORS>
__device__ __forceinline__ void losses(const float* __restrict__ logits,
                                       const long long* __restrict__ targets,
                                       float2* __restrict__ partials, long long rows, int columns,
                                       float (&loss_of)[WARPS], float (&counts)[WARPS])
{
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const long long r = (long long)blockIdx.x * WARPS + warp;
    float loss = 0.0f, counted = 0.0f;

    if (r < rows) {
        const float* __restrict__ row = logits + r * columns;
        const long long target = targets[r];  // needed only after the row: do not wait for it
        float maximum = minus_infinity(), sum = 0.0f;
        read_row<VECTORS>(row, columns, lane, maximum, sum);
        float picked = __int_as_float(0x7fffffff);  // NaN for a target out of range
        if (target >= 0 && target < columns)
            picked = row[target];
#pragma unroll
        for (int d = 16; d > 0; d >>= 1) {
            const float other_maximum = __shfl_xor_sync(FULL, maximum, d);
            const float other_sum = __shfl_xor_sync(FULL, sum, d);
            const float now = fmaxf(maximum, other_maximum);
            const float ref = reference(now);
            sum = sum * __expf(maximum - ref) + other_sum * __expf(other_maximum - ref);
            maximum = now;
        }
        if (target != -100) {
            loss = logf(sum) + (maximum - picked);
            counted = 1.0f;
        }
    }
    if (lane == 0) {
        loss_of[warp] = loss;
        counts[warp] = counted;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f, count = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            total += loss_of[w];
            count += counts[w];
        }
        partials[blockIdx.x] = make_float2(total, count);
    }
}

// Rows of a multiple of 4 floats, logits aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
losses_vectors(const float* __restrict__ logits, const long long* __restrict__ targets,
               float2* __restrict__ partials, long long rows, int columns)
{
    __shared__ float loss_of[WARPS], counts[WARPS];
    losses<true>(logits, targets, partials, rows, columns, loss_of, counts);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
losses_scalars(const float* __restrict__ logits, const long long* __restrict__ targets,
               float2* __restrict__ partials, long long rows, int columns)
{
    __shared__ float loss_of[WARPS], counts[WARPS];
    losses<false>(logits, targets, partials, rows, columns, loss_of, counts);
}

extern "C" __global__ void __launch_bounds__(1024)
mean_loss(const float2* __restrict__ partials, float* __restrict__ out, int blocks)
{
    __shared__ double totals[32], counts[32];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    double total = 0.0, count = 0.0;
#pragma unroll 4
    for (int i = threadIdx.x; i < blocks; i += 1024) {
        const float2 p = partials[i];
        total += p.x;
        count += p.y;
    }
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) {
        total += __shfl_xor_sync(FULL, total, d);
        count += __shfl_xor_sync(FULL, count, d);
    }
    if (lane == 0) {
        totals[warp] = total;
        counts[warp] = count;
    }
    __syncthreads();
    if (warp == 0) {
        total = totals[lane];
        count = counts[lane];
#pragma unroll
        for (int d = 16; d > 0; d >>= 1) {
            total += __shfl_xor_sync(FULL, total, d);
            count += __shfl_xor_sync(FULL, count, d);
        }
        if (lane == 0)
            out[0] = (float)(total / count);  // NaN where no row counts, as in PyTorch
    }
}
"""

kernels = compile_cuda(CUDA, (f"-DBLOCK={BLOCK}",))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        if predictions.dtype != torch.float32:
            raise TypeError("float32 logits only")
        if targets.is_floating_point() or targets.is_complex():
            raise TypeError("class indices only")
        if predictions.dim() == 0:
            raise ValueError("logits need a dimension of classes")
        if predictions.dim() == 1:
            expected = torch.Size(())
            logits = predictions.unsqueeze(0)
        else:
            expected = predictions.shape[:1] + predictions.shape[2:]
            logits = predictions
            if predictions.dim() > 2:
                logits = predictions.movedim(1, -1)
        if targets.shape != expected:
            raise ValueError("shapes of logits and targets do not fit")
        columns = logits.shape[-1]
        if not 0 < columns < 2**31 - 1024:
            raise ValueError("number of classes not supported")
        logits = logits.contiguous()
        targets = targets.to(torch.int64).contiguous()

        rows = targets.numel()
        per_block = BLOCK // 32
        blocks = max(1, (rows + per_block - 1) // per_block)
        if blocks > 2**31 - 2048:
            raise ValueError("too many rows")
        partials = torch.empty((blocks, 2), dtype=torch.float32, device=logits.device)
        out = torch.empty((), dtype=torch.float32, device=logits.device)
        if columns % 4 == 0 and logits.data_ptr() % 16 == 0:
            kernels.losses_vectors[blocks, BLOCK](logits, targets, partials, rows, columns)
        else:
            kernels.losses_scalars[blocks, BLOCK](logits, targets, partials, rows, columns)
        kernels.mean_loss[1, 1024](partials, out, blocks)
        return out
