// Planted: a half-precision matrix product (a bank of Fourier bins over many channels) computed with
// fp32 multiply-adds, well tiled but off the tensor cores. Repair: mma on 32 x 64 tiles per warp.
/* rooftree
[shape]
bins = 2048
channels = 2048
samples = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "basis"
role = "input"
dtype = "float16"
shape = ["samples", "bins"]
[[buffer]]
name = "signal"
role = "input"
dtype = "float16"
shape = ["samples", "channels"]
[[buffer]]
name = "spectrum"
role = "output"
shape = ["bins", "channels"]
[cost]
bytes = "2 * samples * (bins + channels) + 4 * bins * channels"
flops = "2 * bins * channels * samples"
math = "fp16"
[[launch]]
kernel = "dft_bank"
grid = ["channels // 128", "bins // 128"]
block = [256]
args = ["basis", "signal", "spectrum", "bins", "channels", "samples"]
*/
constexpr int TILE = 128, DEPTH = 32, PITCH = TILE + 8;
typedef unsigned short Half;
typedef Half Tile[DEPTH][PITCH];

#define EIGHT(f, r) f(r[0]), f(r[1]), f(r[2]), f(r[3]), f(r[4]), f(r[5]), f(r[6]), f(r[7])
#define OUT(x) "=r"(x)
#define IN(x) "r"(x)
#define IN_FLOAT(x) "f"(x)
#define IN_OUT(x) "+f"(x)

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void fetch(Tile& to, const Half* from, int width)
{
#pragma unroll
    for (unsigned k = 0; k < DEPTH * TILE / 8; k += 256) {
        const unsigned row = (k + threadIdx.x) / 16, column = threadIdx.x % 16 * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
            :: "r"(shared_address(&to[row][column])), "l"(from + row * width + column));
    }
}

#if !REPAIRED
__device__ void unpack(float (&to)[8], const Half* from)
{
    const uint4 v = *(const uint4*)from;
    const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i)
        asm("{.reg .f16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
            : "=f"(to[2 * i]), "=f"(to[2 * i + 1]) : "r"(words[i]));
}
#endif

extern "C" __global__ void __launch_bounds__(256, 2) dft_bank(const Half* basis, const Half* signal,
    float* spectrum, int bins, int channels, int samples)
{
    __shared__ __align__(128) Tile as[2], bs[2];
#if REPAIRED  // of the warp
    const int row = threadIdx.x / 64 * 32, column = threadIdx.x / 32 % 2 * 64;
#else  // of the thread
    const int row = threadIdx.x / 16 * 8, column = threadIdx.x % 16 * 8;
#endif
    float sum[8][8] = {};
    basis += blockIdx.y * TILE;
    signal += blockIdx.x * TILE;
    spectrum += (blockIdx.y * TILE + row) * channels + blockIdx.x * TILE + column;
    fetch(as[0], basis, bins);
    fetch(bs[0], signal, channels);
    for (int t = 0; t < samples; t += DEPTH) {
        const int now = t / DEPTH % 2;
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        if (t + DEPTH < samples) {
            fetch(as[1 - now], basis += DEPTH * bins, bins);
            fetch(bs[1 - now], signal += DEPTH * channels, channels);
        }
#if REPAIRED
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned a[2][8], b[4][8];
#pragma unroll
            for (int i = 0; i < 2; ++i)
                asm volatile("wmma.load.a.sync.aligned.col.m16n16k16.shared.f16 "
                    "{%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;" : EIGHT(OUT, a[i])
                    : "r"(shared_address(&as[now][k][row + i * 16])), "n"(PITCH) : "memory");
#pragma unroll
            for (int i = 0; i < 4; ++i)
                asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 "
                    "{%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;" : EIGHT(OUT, b[i])
                    : "r"(shared_address(&bs[now][k][column + i * 16])), "n"(PITCH) : "memory");
#pragma unroll
            for (int i = 0; i < 8; ++i)
                asm volatile("wmma.mma.sync.aligned.col.row.m16n16k16.f32.f32 "
                    "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
                    "{%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                    : EIGHT(IN_OUT, sum[i]) : EIGHT(IN, a[i / 4]), EIGHT(IN, b[i % 4]));
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
        asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%0], "
            "{%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
            :: "l"(spectrum + i / 4 * 16 * channels + i % 4 * 16), EIGHT(IN_FLOAT, sum[i]),
               "r"(channels) : "memory");
#else
#pragma unroll 8
        for (int k = 0; k < DEPTH; ++k) {
            float a[8], b[8];
            unpack(a, &as[now][k][row]);
            unpack(b, &bs[now][k][column]);
#pragma unroll
            for (int i = 0; i < 64; ++i)
                sum[i / 8][i % 8] += a[i / 8] * b[i % 8];
        }
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const float* four = &sum[i / 2][i % 2 * 4];
        *(float4*)&spectrum[i / 2 * channels + i % 2 * 4] =
            make_float4(four[0], four[1], four[2], four[3]);
    }
#endif
}
