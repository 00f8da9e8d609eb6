// Planted: sixteen library spectra at a time go through registers into shared memory, four warps wait
// for them, and nothing is in flight while they are scored. Repair: cp.async keeps two tiles coming.
/* rooftree
[shape]
spectra = 262144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "library"
role = "input"
shape = ["spectra", 256]
[[buffer]]
name = "queries"
role = "input"
shape = [8, 256]
[[buffer]]
name = "score"
role = "output"
shape = [132, 8]
[[buffer]]
name = "hit"
role = "output"
dtype = "int32"
shape = [132, 8]
[cost]
bytes = "1024 * spectra"
flops = "4096 * spectra"
[[launch]]
kernel = "library_search"
grid = [132]
block = [128]
shared = "16384 * (3 if REPAIRED else 1)"
args = ["library", "queries", "score", "hit", "spectra // 16"]
*/
constexpr int SLOTS = REPAIRED ? 3 : 1, TILE = 16 * 64;  // float4 of sixteen spectra

// N times 16 bytes for this thread of 128.
template <int N> __device__ void copy(float4* to, const float4* from, int pitch)
{
#if REPAIRED
#pragma unroll
    for (int k = 0; k < N; ++k)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)
            __cvta_generic_to_shared(to + k * 128)), "l"(from + k * pitch) : "memory");
#else
    float4 v[N];
#pragma unroll
    for (int k = 0; k < N; ++k)
        v[k] = from[k * pitch];
#pragma unroll
    for (int k = 0; k < N; ++k)
        to[k * 128] = v[k];
#endif
}

// Each warp scores every spectrum of 256 m/z bins against its two query spectra.
extern "C" __global__ void __launch_bounds__(128) library_search(const float4* __restrict__ library,
    const float4* __restrict__ queries, float* score, int* hit, int tiles)
{
    extern __shared__ __align__(16) float4 ring[];
    const int t = threadIdx.x, lane = t % 32, query = t / 32 * 2;
    const float4* mine = queries + query * 64 + lane;
    const float4 q[2][2] = {{mine[0], mine[32]}, {mine[64], mine[96]}};
    float top[2] = {-1e30f, -1e30f};
    int at[2] = {};
    auto fetch = [&](int tile, int slot) {
        if (tile < tiles)
            copy<8>(ring + slot * TILE + t, library + tile * TILE + t, 128);
    };
#if REPAIRED
    fetch(blockIdx.x, 0);
    asm volatile("cp.async.commit_group;" ::: "memory");
    fetch(blockIdx.x + gridDim.x, 1);
#endif
    for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
#if REPAIRED
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        fetch(tile + 2 * gridDim.x, (n + 2) % SLOTS);
#else
        __syncthreads();
        fetch(tile, 0);
        __syncthreads();
#endif
        const float4* rows = ring + n % SLOTS * TILE + lane;
#pragma unroll 8
        for (int row = 0; row < 16; ++row) {
            const float4 a = rows[row * 64], b = rows[row * 64 + 32];
            for (int k = 0; k < 2; ++k) {
                float dot = a.x * q[k][0].x + a.y * q[k][0].y + a.z * q[k][0].z + a.w * q[k][0].w
                    + b.x * q[k][1].x + b.y * q[k][1].y + b.z * q[k][1].z + b.w * q[k][1].w;
                for (int d = 16; d > 0; d /= 2)
                    dot += __shfl_xor_sync(~0u, dot, d);
                if (dot > top[k])
                    top[k] = dot, at[k] = tile * 16 + row;
            }
        }
    }
    if (lane < 2) {
        score[blockIdx.x * 8 + query + lane] = lane ? top[1] : top[0];
        hit[blockIdx.x * 8 + query + lane] = lane ? at[1] : at[0];
    }
}
