// Device code of the judge: filling, flushing, comparing, and the probes behind the ceilings.
// No header is included, so that it compiles where NVRTC stands alone.

typedef unsigned long long u64;
typedef unsigned int u32;

enum DType { F64, F32, F16, BF16, I64, I32, I8, U8 };

__device__ __forceinline__ u64 mix(u64 x)  // splitmix64
{
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

__device__ __forceinline__ float half_to_float(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ unsigned short float_to_half(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// Word i of the keystream that seals what no candidate may read. Whoever guesses one sealed value
// learns one word of the stream; without both halves of the key that tells nothing of another word.
__device__ __forceinline__ u64 keystream(u64 i, u64 a, u64 b)
{
    return mix(mix(a + i) ^ b);
}

// Bits of element i of `size` bytes, unsealed where the key is not zero.
__device__ __forceinline__ u64 load_bits(const void* data, u64 i, int size, u64 a, u64 b)
{
    u64 bits;
    int shift = 0;  // log2 of the elements in a word
    switch (size) {
    case 8: bits = ((const u64*)data)[i]; break;
    case 4: bits = ((const u32*)data)[i]; shift = 1; break;
    case 2: bits = ((const unsigned short*)data)[i]; shift = 2; break;
    default: bits = ((const unsigned char*)data)[i]; shift = 3;
    }
    if (a | b)
        bits ^= keystream(i >> shift, a, b) >> (8 * size * (int)(i & ((1u << shift) - 1)));
    return bits;
}

__device__ __forceinline__ double read(const void* data, u64 i, int dtype, u64 a, u64 b)
{
    const int size = dtype == F64 || dtype == I64 ? 8 : dtype == F32 || dtype == I32 ? 4
        : dtype == F16 || dtype == BF16 ? 2 : 1;
    const u64 bits = load_bits(data, i, size, a, b);
    switch (dtype) {
    case F64: return __longlong_as_double((long long)bits);
    case F32: return __uint_as_float((u32)bits);
    case F16: return half_to_float((unsigned short)bits);
    case BF16: return __uint_as_float((u32)bits << 16);
    case I64: return (double)(long long)bits;
    case I32: return (int)(u32)bits;
    case I8: return (signed char)(unsigned char)bits;
    default: return (unsigned char)bits;
    }
}

// XOR with the keystream, in place: sealing twice under one key gives back what was there.
extern "C" __global__ void rooftree_seal(void* data, u64 bytes, u64 a, u64 b)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    const u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 words = bytes / 8;
    for (u64 i = first; i < words; i += step)
        ((u64*)data)[i] ^= keystream(i, a, b);
    for (u64 i = first; i < bytes % 8; i += step)
        ((unsigned char*)data)[words * 8 + i] ^=
            (unsigned char)(keystream(words, a, b) >> (8 * i));
}

// Standard normal or uniform on (-1, 1); whole numbers on [-8, 8), unsigned ones on [0, 16).
extern "C" __global__ void rooftree_fill(void* out, u64 n, int dtype, int normal, u64 seed)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const u64 bits = mix(mix(seed) ^ i);
        if (dtype == F64) {
            const double u = ((bits >> 11) + 0.5) * (1.0 / 9007199254740992.0);
            const double v = (mix(bits) >> 11) * (1.0 / 9007199254740992.0);
            ((double*)out)[i] = normal ? sqrt(-2.0 * log(u)) * cospi(2.0 * v) : 2.0 * u - 1.0;
            continue;
        }
        const float u = ((u32)(bits >> 40) + 0.5f) * (1.0f / 16777216.0f);
        const float v = (u32)((bits >> 16) & 0xffffff) * (1.0f / 16777216.0f);
        const float value = normal ? sqrtf(-2.0f * logf(u)) * cospif(2.0f * v) : 2.0f * u - 1.0f;
        const u32 word = __float_as_uint(value);
        const int whole = (int)(bits & 15);
        switch (dtype) {
        case F32: ((float*)out)[i] = value; break;
        case F16: ((unsigned short*)out)[i] = float_to_half(value); break;
        case BF16:
            ((unsigned short*)out)[i] = (unsigned short)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
            break;
        case I64: ((long long*)out)[i] = whole - 8; break;
        case I32: ((int*)out)[i] = whole - 8; break;
        case I8: ((signed char*)out)[i] = (signed char)(whole - 8); break;
        default: ((unsigned char*)out)[i] = (unsigned char)whole;
        }
    }
}

// float32 without all but ten bits of its mantissa, as tensor cores take it for TF32.
extern "C" __global__ void rooftree_cut_tf32(const void* data, void* out, u64 n)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const u32 word = ((const u32*)data)[i];
        const bool finite = (word & 0x7f800000u) != 0x7f800000u;
        ((u32*)out)[i] = finite ? word & 0xffffe000u : word;
    }
}

// Reads, never writes: a flush that dirtied the cache would have its write-back timed.
extern "C" __global__ void rooftree_flush(const uint4* data, u64 n, u32* sink)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 sum = 0;
    for (; i + 3 * step < n; i += 4 * step) {
        const uint4 a = data[i], b = data[i + step], c = data[i + 2 * step], d = data[i + 3 * step];
        sum += a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
        sum += c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < n; i += step)
        sum += data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
    if (sum == 0x5bd1e995u)
        *sink = sum;
}

// An order-free sum over (word, position), so that any change of any byte shows.
extern "C" __global__ void rooftree_checksum(const void* data, u64 bytes, u64* out)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    const u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 words = bytes / 8;
    u64 sum = 0;
    for (u64 i = first; i < words; i += step)
        sum += mix(((const u64*)data)[i] + mix(i));
    for (u64 i = words * 8 + first; i < bytes; i += step)
        sum += mix(((const unsigned char*)data)[i] + mix(i ^ 0xA5A5A5A5A5A5A5A5ull));
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

// result: mismatches, ~first mismatching index, NaNs, max |out - ref|, worst |out - ref| / allowed;
// the last two as bits of a non-negative double, which order like unsigned integers. Then, as
// doubles, the sum of squared errors of each of the grid's regions in y (consecutive elements, equal
// shares), and after those the sums of squared expected values. All start at 0. Either side may be
// sealed: a key of zeros says that it is not.
extern "C" __global__ void rooftree_compare(const void* out, const void* expected, u64 n, int dtype,
    int expected_dtype, double relative, double absolute, u64* result, u64 out_a, u64 out_b,
    u64 expected_a, u64 expected_b)
{
    const u64 share = (n + gridDim.y - 1) / gridDim.y;
    const u64 begin = min(n, share * blockIdx.y), end = min(n, begin + share);
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 mismatches = 0, first = 0, nans = 0;
    double max_error = 0.0, worst = 0.0, square_error = 0.0, square_wanted = 0.0;
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    for (u64 i = begin + (u64)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
        const double value = read(out, i, dtype, out_a, out_b);
        const double wanted = read(expected, i, expected_dtype, expected_a, expected_b);
        const bool nan = value != value;
        double error = 0.0, ratio = 0.0;
        if (nan || wanted != wanted) {
            ratio = infinity;
        } else if (value != wanted) {
            error = fabs(value - wanted);
            const double allowed = absolute + relative * fabs(wanted);
            ratio = error == infinity || allowed == 0.0 ? infinity : error / allowed;
        }
        nans += nan;
        if (!(ratio <= 1.0)) {
            ++mismatches;
            first = max(first, ~i);
        }
        max_error = fmax(max_error, error);
        worst = fmax(worst, ratio);
        square_error += error * error;
        if (fabs(wanted) < infinity)
            square_wanted += wanted * wanted;
    }
    for (int d = 16; d > 0; d >>= 1) {
        mismatches += __shfl_xor_sync(0xffffffffu, mismatches, d);
        nans += __shfl_xor_sync(0xffffffffu, nans, d);
        first = max(first, __shfl_xor_sync(0xffffffffu, first, d));
        max_error = fmax(max_error, __shfl_xor_sync(0xffffffffu, max_error, d));
        worst = fmax(worst, __shfl_xor_sync(0xffffffffu, worst, d));
        square_error += __shfl_xor_sync(0xffffffffu, square_error, d);
        square_wanted += __shfl_xor_sync(0xffffffffu, square_wanted, d);
    }
    if (threadIdx.x % 32 != 0)
        return;
    if (mismatches) {
        atomicAdd(result, mismatches);
        atomicMax(result + 1, first);
    }
    if (nans)
        atomicAdd(result + 2, nans);
    if (max_error > 0.0)
        atomicMax(result + 3, (u64)__double_as_longlong(max_error));
    if (worst > 0.0)
        atomicMax(result + 4, (u64)__double_as_longlong(worst));
    double* const sums = (double*)(result + 5);
    if (square_error > 0.0)
        atomicAdd(sums + blockIdx.y, square_error);
    if (square_wanted > 0.0)
        atomicAdd(sums + gridDim.y + blockIdx.y, square_wanted);
}

// One element a thread: on an H200 this reaches 4247 GB/s where four to a thread reach 4048.
extern "C" __global__ void rooftree_copy(const uint4* __restrict__ from, uint4* __restrict__ to, u64 n)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

// 16 independent chains per thread hide the latency of the FMA; 2 * 16 operations an iteration.
extern "C" __global__ void rooftree_fma(float* out, float a, float b, int iterations)
{
    float chain[16];
#pragma unroll
    for (int k = 0; k < 16; ++k)
        chain[k] = threadIdx.x + k;
    for (int i = 0; i < iterations; i += 8) {
#pragma unroll
        for (int u = 0; u < 8; ++u)
#pragma unroll
            for (int k = 0; k < 16; ++k)
                chain[k] = fmaf(chain[k], a, b);
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 16; ++k)
        sum += chain[k];
    if (sum == 12345.678f)
        *out = sum;
}

extern "C" __global__ void rooftree_empty() {}

// Reads 2^k elements over and over, past L1, eight loads in flight a thread; a block is elsewhere in
// each pass, so that all slices of L2 are at work. Bytes: 128 a thread a pass.
extern "C" __global__ void __launch_bounds__(256)
rooftree_l2_read(const uint4* data, u32 elements, int passes, u32* sink)
{
    const u32 step = gridDim.x * blockDim.x;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 sum = 0;
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
        uint4 v[8];
#pragma unroll
        for (int k = 0; k < 8; ++k, i += step)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "l"(data + (i & (elements - 1))));
#pragma unroll
        for (int k = 0; k < 8; ++k)
            sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (sum == 0x5bd1e995u)
        *sink = sum;
}

// Neighbouring lanes read neighbouring 16 bytes: no bank conflicts. Bytes: 256 a thread an iteration.
// The loads are volatile to the assembler too: it would merge those of one address.
extern "C" __global__ void __launch_bounds__(256) rooftree_shared_read(int iterations, u32* sink)
{
    __shared__ uint4 tile[2048];
    for (u32 i = threadIdx.x; i < 2048; i += blockDim.x) {
        const u64 bits = mix(i);
        tile[i] = make_uint4((u32)bits, (u32)(bits >> 32), i, ~i);
    }
    __syncthreads();
    const u32 from = (u32)__cvta_generic_to_shared(tile) + 16 * threadIdx.x;
    u32 sum = 0;
#pragma unroll 1
    for (int i = 0; i < iterations; ++i)
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            uint4 v;
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                         : "r"(from + 4096 * (k % 8)));
            sum ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    if (sum == 0x5bd1e995u)
        *sink = sum;
}

// Two bf16 in +-[0.5, 1): zeros and constants would cost less power, and run faster, than data.
__device__ __forceinline__ u32 random_bf16_pair(u32 i)
{
    return ((u32)mix(i) & 0x807f807fu) | 0x3f003f00u;
}

// The dense rate of the tensor cores, bf16 with fp32 accumulation: 2^23 operations a block of 128
// threads an iteration, by the widest instruction of the architecture. Where none of ours tells what
// the device can do (before sm_80; sm_100 to sm_11x, whose tensor cores work from tensor memory),
// there is no probe, and so no ceiling.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A tile's descriptor: K-major rows of 128 bytes, swizzled; 1024 bytes from 8 rows to the next 8.
__device__ __forceinline__ u64 describe_tile(const void* tile)
{
    const u64 address = __cvta_generic_to_shared(tile);
    return ((address & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

// D[64x256] += A[64x16] B[16x256], A and B in shared memory: 2^19 operations.
__device__ __forceinline__ void multiply_tiles(float (&d)[128], u64 a, u64 b)
{
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
    "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"
        "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,"
        "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,"
        "%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,"
        "%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,"
        "%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,"
        "%126,%127}, %128, %129, 1, 1, 1, 0, 0;"
        : D32(0), D32(32), D32(64), D32(96) : "l"(a), "l"(b));
#undef D32
#undef D8
}

// One warpgroup, one accumulator: the products queue up, so that the tensor cores never wait.
extern "C" __global__ void __launch_bounds__(128) rooftree_bf16(int iterations, float* sink)
{
    __shared__ __align__(1024) u32 a[64 * 32], b[256 * 32];
    for (u32 i = threadIdx.x; i < 64 * 32; i += 128)
        a[i] = random_bf16_pair(i);
    for (u32 i = threadIdx.x; i < 256 * 32; i += 128)
        b[i] = random_bf16_pair(64 * 32 + i);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const u64 from_a = describe_tile(a), from_b = describe_tile(b);
    float d[128];
#pragma unroll
    for (int k = 0; k < 128; ++k)
        d[k] = 0.0f;
#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 16; ++k)  // 16 elements of depth are 32 bytes, two units of an address
            multiply_tiles(d, from_a + 2 * (k % 4), from_b + 2 * (k % 4));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 128; ++k)
        sum += d[k];
    if (sum == 12345.678f)
        *sink = sum;
}

#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && \
    (__CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200)

// Four warps, each with eight independent accumulators of 16x8.
extern "C" __global__ void __launch_bounds__(128) rooftree_bf16(int iterations, float* sink)
{
    u32 a[2][4], b[4][2];
    float d[8][4] = {};
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        a[k / 4][k % 4] = random_bf16_pair(16 * threadIdx.x + k);
        b[k / 2][k % 2] = random_bf16_pair(16 * threadIdx.x + 8 + k);
    }
#pragma unroll 1
    for (int i = 0; i < 16 * iterations; ++i)
#pragma unroll
        for (int k = 0; k < 32; ++k) {
            float(&c)[4] = d[k % 8];
            const u32(&x)[4] = a[k % 8 / 4];
            const u32(&y)[2] = b[k % 4];
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 32; ++k)
        sum += d[k / 4][k % 4];
    if (sum == 12345.678f)
        *sink = sum;
}

#endif
