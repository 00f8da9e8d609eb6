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

__device__ __forceinline__ double read(const void* data, u64 i, int dtype)
{
    switch (dtype) {
    case F64: return ((const double*)data)[i];
    case F32: return ((const float*)data)[i];
    case F16: return half_to_float(((const unsigned short*)data)[i]);
    case BF16: return __uint_as_float((u32)((const unsigned short*)data)[i] << 16);
    case I64: return (double)((const long long*)data)[i];
    case I32: return ((const int*)data)[i];
    case I8: return ((const signed char*)data)[i];
    default: return ((const unsigned char*)data)[i];
    }
}

extern "C" __global__ void rooftree_fill(void* out, u64 n, int dtype, int normal, u64 seed)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const u64 bits = mix(mix(seed) ^ i);
        const float u = ((u32)(bits >> 40) + 0.5f) * (1.0f / 16777216.0f);
        const float v = (u32)((bits >> 16) & 0xffffff) * (1.0f / 16777216.0f);
        const float value = normal ? sqrtf(-2.0f * logf(u)) * cospif(2.0f * v) : 2.0f * u - 1.0f;
        const int whole = (int)(bits & 15);
        switch (dtype) {
        case F64: ((double*)out)[i] = value; break;
        case F32: ((float*)out)[i] = value; break;
        case F16: ((unsigned short*)out)[i] = float_to_half(value); break;
        case BF16: ((unsigned short*)out)[i] = (unsigned short)(__float_as_uint(value) >> 16); break;
        case I64: ((long long*)out)[i] = whole - 8; break;
        case I32: ((int*)out)[i] = whole - 8; break;
        case I8: ((signed char*)out)[i] = (signed char)(whole - 8); break;
        default: ((unsigned char*)out)[i] = (unsigned char)whole;
        }
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
// the last two as bits of a non-negative double, which order like unsigned integers. All start at 0.
extern "C" __global__ void rooftree_compare(const void* out, const void* expected, u64 n, int dtype,
    int expected_dtype, double relative, double absolute, u64* result)
{
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 mismatches = 0, first = 0, nans = 0;
    double max_error = 0.0, worst = 0.0;
    const double infinity = __longlong_as_double(0x7ff0000000000000ll);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const double value = read(out, i, dtype), wanted = read(expected, i, expected_dtype);
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
    }
    for (int d = 16; d > 0; d >>= 1) {
        mismatches += __shfl_xor_sync(0xffffffffu, mismatches, d);
        nans += __shfl_xor_sync(0xffffffffu, nans, d);
        first = max(first, __shfl_xor_sync(0xffffffffu, first, d));
        max_error = fmax(max_error, __shfl_xor_sync(0xffffffffu, max_error, d));
        worst = fmax(worst, __shfl_xor_sync(0xffffffffu, worst, d));
    }
    if (threadIdx.x % 32 != 0)
        return;
    if (mismatches) {
        atomicAdd(result, mismatches);
        atomicMax(result + 1, first);
    }
    if (nans)
        atomicAdd(result + 2, nans);
    atomicMax(result + 3, (u64)__double_as_longlong(max_error));
    atomicMax(result + 4, (u64)__double_as_longlong(worst));
}

extern "C" __global__ void rooftree_copy(const uint4* __restrict__ from, uint4* __restrict__ to, u64 n)
{
    const u64 first = (u64)blockIdx.x * (blockDim.x * 4ull) + threadIdx.x;
    uint4 held[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n)
            held[k] = from[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (first + k * blockDim.x < n)
            to[first + k * blockDim.x] = held[k];
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
