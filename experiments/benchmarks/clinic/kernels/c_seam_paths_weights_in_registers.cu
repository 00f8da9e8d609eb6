// Planted: paths are traced through an image, each step's address known only after the last step's
// pixel; 96 weights held in registers leave one block of 8 warps to hide that wait. Repair: weights
// in shared memory, registers for many blocks.
/* rooftree
[shape]
height = 2048
width = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "energy"
role = "input"
shape = ["height + 192", "width + 96"]
[[buffer]]
name = "weights"
role = "input"
shape = [96]
[[buffer]]
name = "cost"
role = "output"
shape = ["height", "width"]
[cost]
bytes = "8 * height * width"
flops = "192 * height * width"
[[launch]]
kernel = "trace"
grid = ["width // 256", "height // 8"]
block = [256]
args = ["energy", "weights", "cost", "width"]
*/
constexpr int STEPS = 96;

extern "C" __global__ void __launch_bounds__(256) trace(const float* __restrict__ energy,
    const float* __restrict__ weights, float* cost, int width)
{
    const int x = blockIdx.x * 256 + threadIdx.x, pitch = width + STEPS;
#if REPAIRED
    __shared__ float weight[STEPS];
    if (threadIdx.x < STEPS)
        weight[threadIdx.x] = weights[threadIdx.x];
    __syncthreads();
#else
    float weight[STEPS];
#pragma unroll
    for (int k = 0; k < STEPS; ++k)
        weight[k] = weights[k];
#endif
#pragma unroll 1
    for (int y = blockIdx.y * 8; y < blockIdx.y * 8 + 8; ++y) {
        int at = (y + STEPS) * pitch + x;
        float sum = 0.0f;
#pragma unroll REPAIRED ? 8 : STEPS
        for (int k = 0; k < STEPS; ++k) {
            const float e = energy[at];
            sum += e * weight[k];
            at += 1 + (e > 3.0f ? pitch : 0) - (e < -3.0f ? pitch : 0);  // around an outlier
        }
        cost[y * width + x] = sum;
    }
}
