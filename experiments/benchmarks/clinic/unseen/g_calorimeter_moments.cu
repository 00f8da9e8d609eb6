// Planted: every hit adds to one of four sets of moments in shared memory, so that the lanes of a warp
// and all warps of a block queue for a dozen words. Repair: each thread keeps the four sets in
// registers, and a warp adds them up before one lane touches shared memory.
/* rooftree
[shape]
hits = 67108864
blocks = 1056
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "energy"
role = "input"
shape = ["hits"]
[[buffer]]
name = "moments"
role = "output"
dtype = "int32"
shape = ["blocks", 12]
[cost]
bytes = "4 * hits + 48 * blocks"
flops = "6 * hits"
[[launch]]
kernel = "hit_moments"
grid = ["blocks"]
block = [256]
args = ["energy", "moments", "hits // 4"]
*/
#define REGIONS 4

// Which of the calorimeter's depths a hit of this energy is booked to.
static __device__ __forceinline__ int region(float size)
{
    return (size >= 0.5f) + (size >= 1.0f) + (size >= 2.0f);
}

// Number, sum and sum of squares of the digitised energies of each region, for each block's share.
extern "C" __global__ void __launch_bounds__(256) hit_moments(const float4* __restrict__ energy,
    int* __restrict__ moments, int quads)
{
    __shared__ unsigned total[REGIONS][3];
    if (threadIdx.x < REGIONS * 3)
        (&total[0][0])[threadIdx.x] = 0;
    __syncthreads();
#if REPAIRED
    unsigned both[REGIONS] = {}, squares[REGIONS] = {}; // both: the number above 16 bits of sum
#endif
    for (int i = blockIdx.x * 256 + threadIdx.x; i < quads; i += gridDim.x * 256) {
        const float4 four = energy[i];
        const float sizes[4] = { fabsf(four.x), fabsf(four.y), fabsf(four.z), fabsf(four.w) };
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int r = region(sizes[k]);
            const unsigned q = min(__float2uint_rz(32.0f * sizes[k]), 127u);
#if REPAIRED
            const unsigned one = q + 65536u, square = q * q;
#pragma unroll
            for (int s = 0; s < REGIONS; ++s)
                if (r == s)
                    both[s] += one, squares[s] += square;
#else
            atomicAdd(&total[r][0], 1u);
            atomicAdd(&total[r][1], q);
            atomicAdd(&total[r][2], q * q);
#endif
        }
    }
#if REPAIRED
#pragma unroll
    for (int s = 0; s < REGIONS; ++s) {
        const unsigned number = __reduce_add_sync(0xffffffffu, both[s] >> 16);
        const unsigned sum = __reduce_add_sync(0xffffffffu, both[s] & 65535u);
        const unsigned square = __reduce_add_sync(0xffffffffu, squares[s]);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&total[s][0], number);
            atomicAdd(&total[s][1], sum);
            atomicAdd(&total[s][2], square);
        }
    }
#endif
    __syncthreads();
    if (threadIdx.x < REGIONS * 3)
        moments[blockIdx.x * REGIONS * 3 + threadIdx.x] = (int)(&total[0][0])[threadIdx.x];
}
