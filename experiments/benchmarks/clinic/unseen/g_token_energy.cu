// Planted: all 32 lanes of a warp add their share to the same float in device memory. Repair: the warp
// adds up by shuffles, and one lane adds the sum.
/* rooftree
[shape]
tokens = 32768
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "hidden"
role = "input"
dtype = "float16"
shape = ["tokens", 4096]
[[buffer]]
name = "energy"
role = "output"
shape = ["tokens"]
[cost]
bytes = "2 * 4096 * tokens + 4 * tokens"
flops = "2 * 4096 * tokens"
[[launch]]
memset = "energy"
[[launch]]
kernel = "token_energy"
grid = ["2 * tokens"]
block = [256]
args = ["hidden", "energy"]
*/
#include <cuda_fp16.h>

#define WIDTH 4096

// Mean square of each token's hidden state, for its normalisation; eight numbers per thread.
extern "C" __global__ void __launch_bounds__(256) token_energy(const __half* __restrict__ hidden,
    float* __restrict__ energy)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int token = i / (WIDTH / 8);
    const uint4 eight = ((const uint4*)hidden)[i];
    const __half2* pairs = (const __half2*)&eight;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float2 two = __half22float2(pairs[k]);
        sum = fmaf(two.x, two.x, fmaf(two.y, two.y, sum));
    }
    sum *= 1.0f / WIDTH;
#if REPAIRED
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&energy[token], sum);
#else
    atomicAdd(&energy[token], sum);
#endif
}
