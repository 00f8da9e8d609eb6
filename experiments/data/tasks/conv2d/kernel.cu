/* rooftree
where = [
    "128 <= BX * BY and BX * BY <= 256",
    "PX > 1 or SPREAD == 0",
    "CB == 1 and STAGE_X + STAGE_W == 0 or CB > 1 and STAGE_X + STAGE_W > 0",
    "PIPELINE == 0 or STAGE_X * STAGE_W == 1",
]

[tunables]
BX       = { values = [16, 32], default = 32, methods = ["latency.block_size", "memory.coalesced_access"], help = "threads of a block along a row of the image" }
BY       = { values = [4, 8, 16], default = 8, methods = ["latency.block_size"], help = "rows of the image per block" }
PX       = { values = [1, 4], default = 1, methods = ["compute.register_tiling", "latency.work_per_thread"], help = "pixels per thread" }
SPREAD   = { values = [0, 1], default = 0, methods = ["memory.shared_padding", "memory.coalesced_access"], help = "0: the pixels of a thread are neighbours and share inputs; 1: they lie BX apart" }
KT       = { values = [1, 4, 8, 16], default = 1, methods = ["compute.register_tiling", "latency.work_per_thread"], help = "output channels per thread" }
CB       = { values = [1, 4, 8], default = 1, methods = ["memory.shared_tiling", "latency.fewer_barriers"], help = "input channels that are staged at a time" }
STAGE_X  = { values = [0, 1], default = 0, methods = ["memory.shared_tiling"], help = "1: the block's part of the image goes through shared memory" }
STAGE_W  = { values = [0, 1], default = 0, methods = ["memory.shared_tiling"], help = "1: the weights go through shared memory, turned so that one load brings four channels" }
PIPELINE = { values = [0, 1], default = 0, methods = ["latency.double_buffering", "memory.async_copy"], help = "1: two stages, filled by cp.async" }

[[launch]]
kernel = "conv2d"
grid   = ["ceil_div(w, BX * PX)", "ceil_div(h, BY)", "n * ceil_div(k, KT)"]
block  = ["BX", "BY"]
shared = "4 * CB * (STAGE_W * 9 * KT + STAGE_X * (BX * PX + 2) * (BY + 2)) * (1 + PIPELINE)"
args   = ["x", "weight", "y", "c", "k", "h", "w"]
*/

#define TILE_W (BX * PX)
#define PITCH (TILE_W + 2)
#define LINES (BY + 2)
#define W_FLOATS (STAGE_W * CB * 9 * KT)
#define X_FLOATS (STAGE_X * CB * LINES * PITCH)
#define THREADS (BX * BY)

// Where pixel i of a thread lies in the row of its block.
__device__ __forceinline__ int pixel(int i)
{
    return SPREAD ? i * BX + threadIdx.x : threadIdx.x * PX + i;
}

__device__ __forceinline__ void copy_async_4(unsigned to, const void* from, int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// One float to shared memory, zero where `there` is false; `from` is a valid address in any case.
__device__ __forceinline__ void put(float* to, const float* from, bool there)
{
#if PIPELINE
    copy_async_4((unsigned)__cvta_generic_to_shared(to), from, there ? 4 : 0);
#else
    *to = there ? *from : 0.0f;
#endif
}

struct Image {
    const float* x;       // the first input channel's plane of this image
    const float* weight;  // of the first of the block's output channels
    int c, k, h, w;       // k: output channels from here on

    // Channels c0 to c0 + CB of both inputs.
    __device__ __forceinline__ void fill(float* stage, int c0) const
    {
        [[maybe_unused]] const int t = threadIdx.y * BX + threadIdx.x;
#if STAGE_W
        // In the order of device memory: neighbouring threads read neighbours and write KT apart.
        for (int i = t; i < W_FLOATS; i += THREADS) {
            const int j = i / (9 * CB), rest = i % (9 * CB);
            const bool there = j < k && c0 + rest / 9 < c;
            put(stage + rest * KT + j, there ? weight + (size_t)(j * c + c0) * 9 + rest : weight, there);
        }
#endif
#if STAGE_X
        const int row0 = blockIdx.y * BY, column0 = blockIdx.x * TILE_W;
        for (int i = t; i < X_FLOATS; i += THREADS) {
            const int q = i / (LINES * PITCH), line = i / PITCH % LINES, column = i % PITCH;
            const bool there = c0 + q < c && row0 + line < h + 2 && column0 + column < w + 2;
            const size_t at = ((size_t)(c0 + q) * (h + 2) + row0 + line) * (w + 2) + column0 + column;
            put(stage + W_FLOATS + i, there ? x + at : x, there);
        }
#endif
    }

    // Add the products of channel c0 + q to the sums.
    __device__ __forceinline__ void multiply(float (&sum)[KT][PX], const float* stage, int c0, int q) const
    {
#pragma unroll
        for (int dy = 0; dy < 3; ++dy) {
            float in[3][PX];
#if STAGE_X
            const float* line = stage + W_FLOATS + (q * LINES + threadIdx.y + dy) * PITCH;
#else
            const int row = min((int)(blockIdx.y * BY + threadIdx.y), h - 1) + dy;
            const float* line = x + ((size_t)(c0 + q) * (h + 2) + row) * (w + 2);
#endif
#pragma unroll
            for (int dx = 0; dx < 3; ++dx)
#pragma unroll
                for (int i = 0; i < PX; ++i) {
                    if (!SPREAD && dx > 0 && i + 1 < PX)
                        in[dx][i] = in[dx - 1][i + 1];
                    else
#if STAGE_X
                        in[dx][i] = line[pixel(i) + dx];
#else
                        in[dx][i] = line[min((int)(blockIdx.x * TILE_W) + pixel(i) + dx, w + 1)];
#endif
                }
#pragma unroll
            for (int dx = 0; dx < 3; ++dx) {
                alignas(16) float taps[KT];
#if STAGE_W && KT >= 4
#pragma unroll
                for (int j = 0; j < KT; j += 4)
                    *reinterpret_cast<float4*>(taps + j) =
                        *reinterpret_cast<const float4*>(stage + (q * 9 + dy * 3 + dx) * KT + j);
#elif STAGE_W
                taps[0] = stage[q * 9 + dy * 3 + dx];
#else
#pragma unroll
                for (int j = 0; j < KT; ++j)
                    taps[j] = weight[(size_t)(min(j, k - 1) * c + c0 + q) * 9 + dy * 3 + dx];
#endif
#pragma unroll
                for (int j = 0; j < KT; ++j)
#pragma unroll
                    for (int i = 0; i < PX; ++i)
                        sum[j][i] = fmaf(taps[j], in[dx][i], sum[j][i]);
            }
        }
    }
};

// x has h + 2 rows of w + 2 pixels: only whole windows are computed.
extern "C" __global__ void __launch_bounds__(THREADS)
conv2d(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int c, int k, int h, int w)
{
    extern __shared__ float4 raw[];
    float* const stages = reinterpret_cast<float*>(raw);
    const int groups = (k + KT - 1) / KT;
    const int n = blockIdx.z / groups, k0 = blockIdx.z % groups * KT;
    const Image image = {x + (size_t)n * c * (h + 2) * (w + 2), weight + (size_t)k0 * c * 9, c, k - k0, h, w};
    float sum[KT][PX] = {};

#if PIPELINE
    constexpr int STAGE_FLOATS = W_FLOATS + X_FLOATS;
    image.fill(stages, 0);
    commit_copies();
    int now = 0;
    for (int c0 = 0; c0 < c; c0 += CB, now ^= 1) {
        wait_copies<0>();
        // All copies of this stage have landed, and nobody reads the other one any more.
        __syncthreads();
        if (c0 + CB < c)
            image.fill(stages + (now ^ 1) * STAGE_FLOATS, c0 + CB);
        commit_copies();
        for (int q = 0; q < min(CB, c - c0); ++q)
            image.multiply(sum, stages + now * STAGE_FLOATS, c0, q);
    }
#else
    for (int c0 = 0; c0 < c; c0 += CB) {
#if STAGE_X || STAGE_W
        __syncthreads();
        image.fill(stages, c0);
        __syncthreads();
#endif
        for (int q = 0; q < min(CB, c - c0); ++q)
            image.multiply(sum, stages, c0, q);
    }
#endif

    const int row = blockIdx.y * BY + threadIdx.y;
    if (row >= h)
        return;
#pragma unroll
    for (int j = 0; j < KT; ++j)
#pragma unroll
        for (int i = 0; i < PX; ++i) {
            const int column = blockIdx.x * TILE_W + pixel(i);
            if (k0 + j < k && column < w)
                y[(((size_t)n * k + k0 + j) * h + row) * w + column] = sum[j][i];
        }
}
