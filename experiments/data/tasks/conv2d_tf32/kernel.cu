/* rooftree
where = [
    "MMA == 1 or TW == 64 and STAGES == 1 and ROUND + PACK == 0 and CB == 8 and KT == 64",
    "MMA == 0 or 16 * WARPS <= ROWS * TW and ROWS * TW <= 64 * WARPS",
    "MMA == 0 or ROWS * TW * KT >= 512 * WARPS",
    "STAGES * CB * (9 * KT + ROWS * TW + 2 * ROWS + 2 * TW + 36) <= 57000",
]

[tunables]
MMA    = { values = [0, 1], default = 0, methods = ["compute.tensor_cores", "memory.shared_tiling"], help = "0: a thread per pixel of ROWS rows, in fp32, straight from device memory; 1: an implicit matrix product on tensor cores, in TF32: KT output channels by a tile of pixels, over CB input channels and 9 places at a time" }
KT     = { values = [32, 64], default = 64, methods = ["compute.register_tiling", "memory.shared_tiling"], help = "output channels per block" }
ROWS   = { values = [1, 2, 4], default = 1, methods = ["memory.shared_tiling", "compute.register_tiling"], help = "rows of the image per block" }
TW     = { values = [64, 128], default = 64, methods = ["memory.shared_tiling", "compute.register_tiling"], help = "columns of the image per block" }
WARPS  = { values = [4, 8], default = 4, methods = ["latency.block_size", "memory.register_reuse"], help = "warps per block; they share the pixels" }
CB     = { values = [8, 16], default = 8, methods = ["memory.shared_tiling", "latency.fewer_barriers"], help = "input channels in shared memory at a time" }
STAGES = { values = [1, 2, 3], default = 1, methods = ["latency.double_buffering", "memory.async_copy"], help = "sets of CB input channels in shared memory, filled by cp.async" }
PACK   = { values = [0, 1], default = 0, methods = ["memory.vectorized_loads", "memory.coalesced_access"], help = "1: a kernel of its own writes the weights down in the order of the tensor cores' fragments before, so that they are copied 16 bytes at a time" }
ROUND  = { values = [0, 1], default = 0, methods = ["compute.tensor_cores"], help = "1: inputs are rounded to TF32 before they are multiplied; 0: the tensor cores cut them off" }

[[workspace]]
name = "packed"
dtype = "float32"
size = "72 * KT * ceil_div(k, KT) * ceil_div(c, CB) * (CB // 8) if PACK == 1 else 1"

[[launch]]
kernel = "pack"
grid   = ["9 * ceil_div(c, CB) * (CB // 8)", "ceil_div(k, KT)"]
block  = ["KT * 2"]
args   = ["weight", "packed", "c", "k"]
when   = "PACK == 1"

[[launch]]
kernel = "conv2d"
grid   = ["ceil_div(w, TW if MMA == 1 else 32 * WARPS)", "ceil_div(h, ROWS)", "n * (ceil_div(k, KT) if MMA == 1 else k)"]
block  = ["32 * WARPS"]
shared = "MMA * 4 * STAGES * CB * (9 * KT + ((ROWS + 2) * (TW + 2) + (40 - (ROWS + 2) * (TW + 2) % 32) % 32))"
args   = ["x", "weight", "packed", "y", "c", "k", "h", "w"]
*/

#if MMA
#define THREADS (32 * WARPS)
#define PITCH (TW + 2)
#define BASE ((ROWS + 2) * PITCH)
// Between channels, so that 4 channels by 8 neighbouring pixels lie in different banks.
#define PLANE (BASE + (40 - BASE % 32) % 32)
#define WEIGHTS (9 * KT * CB)
#define STAGE (WEIGHTS + CB * PLANE)
#define PIXELS (ROWS * TW / WARPS)  // of a warp, all in one row of the image
static_assert(TW % PIXELS == 0, "a warp's pixels lie in one row");

__device__ __forceinline__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// BYTES of 4, 8 or 16, of which the first `there` are copied and the others zeroed.
template <int BYTES> __device__ __forceinline__ void copy_async(float* to, const float* from, int there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(BYTES), "r"(there) : "memory");
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int N> __device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

__device__ __forceinline__ unsigned tf32(float v)
{
#if ROUND
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
#else
    return __float_as_uint(v);
#endif
}

// D[16x8] += A[16x8] B[8x8] over the warp.
__device__ __forceinline__ void multiply_fragments(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Where a stage holds the weight of output o, input `depth` and `place`: in the order in which lanes take
// them as fragments.
__device__ __forceinline__ int slot(int o, int depth, int place)
{
    const int lane = o % 8 * 4 + depth % 4, part = o / 8 % 2 + depth / 4 % 2 * 2;
    return (((depth / 8 * 9 + place) * (KT / 16) + o / 16) * 32 + lane) * 4 + part;
}

// CB input channels from `channel` on: their weights, and the block's part of the image.
__device__ __forceinline__ void fill(float* stage, const float* x, const float* weight, int channel, int output, int row, int column, int c, int k, int h, int w)
{
#if PACK
    // `weight` is packed.
    weight += ((size_t)(output / KT) * ((c + CB - 1) / CB) + channel / CB) * WEIGHTS;
    for (int i = threadIdx.x; i < WEIGHTS / 4; i += THREADS)
        copy_async<16>(stage + 4 * i, weight + 4 * i, 16);
#else
    for (int i = threadIdx.x; i < WEIGHTS; i += THREADS) {
        const int o = i / (9 * CB), depth = i / 9 % CB, place = i % 9;
        const bool there = output + o < k && channel + depth < c;
        const float* from = there ? weight + ((size_t)(output + o) * c + channel + depth) * 9 + place : weight;
        copy_async<4>(stage + slot(o, depth, place), from, there ? 4 : 0);
    }
#endif
    float* const image = stage + WEIGHTS;
    const size_t line = w + 2, plane = line * (h + 2);
    if (w % 2 == 0) {
        for (int i = threadIdx.x; i < CB * BASE / 2; i += THREADS) {
            const int depth = i / (BASE / 2), r = i % (BASE / 2) / (PITCH / 2), at = i % (PITCH / 2) * 2;
            const bool there = channel + depth < c && row + r < h + 2 && column + at < w + 2;
            const float* from = there ? x + (channel + depth) * plane + (row + r) * line + column + at : x;
            copy_async<8>(image + depth * PLANE + r * PITCH + at, from, there ? 8 : 0);
        }
    } else {
        for (int i = threadIdx.x; i < CB * BASE; i += THREADS) {
            const int depth = i / BASE, r = i % BASE / PITCH, at = i % PITCH;
            const bool there = channel + depth < c && row + r < h + 2 && column + at < w + 2;
            const float* from = there ? x + (channel + depth) * plane + (row + r) * line + column + at : x;
            copy_async<4>(image + depth * PLANE + r * PITCH + at, from, there ? 4 : 0);
        }
    }
}

__device__ __forceinline__ void compute(float (&sum)[KT / 16][PIXELS / 8][4], const float* stage, int row, int column)
{
    const int lane = threadIdx.x % 32;
    // A lane's values of B: channels lane % 4 and 4 more, pixel lane / 4 of each 8.
    const float* image = stage + WEIGHTS + lane % 4 * PLANE + row * PITCH + column + lane / 4;
#pragma unroll 9
    for (int step = 0; step < CB / 8 * 9; ++step) {
        const int place = step % 9, depth = step / 9 * 8;
        unsigned a[KT / 16][4];
#pragma unroll
        for (int i = 0; i < KT / 16; ++i) {
            const float4 v = *reinterpret_cast<const float4*>(stage + ((step * (KT / 16) + i) * 32 + lane) * 4);
            a[i][0] = tf32(v.x);
            a[i][1] = tf32(v.y);
            a[i][2] = tf32(v.z);
            a[i][3] = tf32(v.w);
        }
#pragma unroll
        for (int j = 0; j < PIXELS / 8; ++j) {
            const float* from = image + depth * PLANE + place / 3 * PITCH + place % 3 + j * 8;
            const unsigned b0 = tf32(from[0]), b1 = tf32(from[4 * PLANE]);
#pragma unroll
            for (int i = 0; i < KT / 16; ++i)
                multiply_fragments(sum[i][j], a[i], b0, b1);
        }
    }
}

#if PACK
// A block of 2 * KT threads writes down the weights of KT outputs and 8 inputs at one place.
extern "C" __global__ void pack(const float* __restrict__ weight, float* __restrict__ packed, int c, int k)
{
    const int step = blockIdx.x / 9, place = blockIdx.x % 9;
    const int deep = gridDim.x / 9;  // sets of 8 inputs
    packed += (size_t)blockIdx.y * deep * 72 * KT + (size_t)step * 72 * KT;
    for (int i = threadIdx.x; i < KT * 8; i += 2 * KT) {
        const int o = blockIdx.y * KT + i / 8, channel = step * 8 + i % 8;
        packed[slot(i / 8, i % 8, place)] = o < k && channel < c ? weight[((size_t)o * c + channel) * 9 + place] : 0.0f;
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
conv2d(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ packed, float* __restrict__ y, int c, int k, int h, int w)
{
    extern __shared__ float4 raw[];
#if PACK
    weight = packed;
#endif
    float* const stages = reinterpret_cast<float*>(raw);
    const int blocks = (k + KT - 1) / KT;
    const int image = blockIdx.z / blocks, output = blockIdx.z % blocks * KT;
    const int row = blockIdx.y * ROWS, column = blockIdx.x * TW;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int own_row = warp * PIXELS / TW, own_column = warp * PIXELS % TW;
    const int steps = (c + CB - 1) / CB;
    x += (size_t)image * c * (h + 2) * (w + 2);
    float sum[KT / 16][PIXELS / 8][4] = {};

#if STAGES == 1
    for (int t = 0; t < steps; ++t) {
        __syncthreads();
        fill(stages, x, weight, t * CB, output, row, column, c, k, h, w);
        commit_copies();
        wait_copies<0>();
        __syncthreads();
        compute(sum, stages, own_row, own_column);
    }
#else
#pragma unroll
    for (int t = 0; t < STAGES - 1; ++t) {
        if (t < steps)
            fill(stages + t * STAGE, x, weight, t * CB, output, row, column, c, k, h, w);
        commit_copies();
    }
    for (int t = 0; t < steps; ++t) {
        wait_copies<STAGES - 2>();
        // All threads' copies of this step have landed, and nobody reads the one before any more.
        __syncthreads();
        const int next = t + STAGES - 1;
        if (next < steps)
            fill(stages + next % STAGES * STAGE, x, weight, next * CB, output, row, column, c, k, h, w);
        commit_copies();
        compute(sum, stages + t % STAGES * STAGE, own_row, own_column);
    }
#endif

    const int line = row + own_row;
    if (line >= h)
        return;
#pragma unroll
    for (int i = 0; i < KT / 16; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int o = output + i * 16 + half * 8 + lane / 4;
            if (o >= k)
                continue;
            float* const to = y + (((size_t)image * k + o) * h + line) * w;
#pragma unroll
            for (int j = 0; j < PIXELS / 8; ++j) {
                const int at = column + own_column + j * 8 + lane % 4 * 2;
                const float first = sum[i][j][2 * half], second = sum[i][j][2 * half + 1];
                if (w % 2 == 0) {
                    if (at < w)
                        *reinterpret_cast<float2*>(to + at) = make_float2(first, second);
                } else {
                    if (at < w)
                        to[at] = first;
                    if (at + 1 < w)
                        to[at + 1] = second;
                }
            }
        }
}
#else
extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv2d(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__, float* __restrict__ y, int c, int k, int h, int w)
{
    const int column = blockIdx.x * 32 * WARPS + threadIdx.x, row = blockIdx.y * ROWS;
    const int image = blockIdx.z / k, o = blockIdx.z % k;
    if (column >= w)
        return;
    const size_t line = w + 2, plane = line * (h + 2);
    x += (size_t)image * c * plane + column;
    weight += (size_t)o * c * 9;
    float sum[ROWS] = {};
    for (int i = 0; i < c; ++i)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const float* const from = x + i * plane + min(row + r, h - 1) * line;
#pragma unroll
            for (int place = 0; place < 9; ++place)
                sum[r] = fmaf(weight[i * 9 + place], from[place / 3 * line + place % 3], sum[r]);
        }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r < h)
            y[(((size_t)image * k + o) * h + row + r) * w + column] = sum[r];
}
#endif
