// Planted: the log-likelihood takes an exponential and a logarithm for each person and item. Repair: the
// exponential of a difference is a product of two taken beforehand, and sixteen factors share one logarithm.
/* rooftree
[shape]
persons = 16777216
items = 128
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "ability"
role = "input"
fill = "uniform"
shape = ["persons"]
[[buffer]]
name = "difficulty"
role = "input"
fill = "uniform"
shape = ["items"]
[[buffer]]
name = "normaliser"
role = "output"
shape = ["persons"]
[cost]
bytes = "8 * persons"
flops = "2 * items * persons"
[[launch]]
kernel = "rasch_normaliser"
grid = ["persons // 1024"]
block = [256]
args = ["ability", "difficulty", "normaliser"]
*/
#define ITEMS 128

// Sum over items of log(1 + exp(2 (ability - difficulty))): what the test's log-likelihood subtracts.
extern "C" __global__ void rasch_normaliser(const float4* __restrict__ ability,
    const float* __restrict__ difficulty, float4* __restrict__ normaliser)
{
    __shared__ float item[ITEMS];
    if (threadIdx.x < ITEMS)
        item[threadIdx.x] = REPAIRED ? __expf(-2.0f * difficulty[threadIdx.x]) : difficulty[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 who = ability[i];
    const float person[4] = {who.x, who.y, who.z, who.w};
    float sum[4] = {};
#if REPAIRED
    float odds[4];
    for (int p = 0; p < 4; ++p)
        odds[p] = __expf(2.0f * person[p]);
#endif
#pragma unroll 1
    for (int k = 0; k < ITEMS; k += 16)
#pragma unroll
        for (int p = 0; p < 4; ++p) {
#if REPAIRED
            float product = 1.0f;  // at most (1 + e^4)^16
            for (int j = k; j < k + 16; ++j)
                product *= fmaf(odds[p], item[j], 1.0f);
            sum[p] += __logf(product);
#else
            for (int j = k; j < k + 16; ++j)
                sum[p] += __logf(1.0f + __expf(2.0f * (person[p] - item[j])));
#endif
        }
    normaliser[i] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}
