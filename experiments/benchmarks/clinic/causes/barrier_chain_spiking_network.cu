// Planted: 1024 neurons with common inhibition, a thread each: at every time step all wait for one warp that adds up
// 32 counts of spikes. Repair: a warp per network, 32 neurons per lane, the count by one reduction.
/* rooftree
[shape]
networks = 2112
steps = 500
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "current"
role = "input"
fill = "uniform"
shape = ["networks", 1024]
[[buffer]]
name = "activity"
role = "output"
dtype = "int32"
shape = ["networks", "steps"]
[cost]
bytes = "4096 * networks + 4 * networks * steps"
flops = "5120 * networks * steps"
[[launch]]
kernel = "spiking_network"
grid = ["networks // 4 if REPAIRED else networks"]
block = ["128 if REPAIRED else 1024"]
args = ["current", "activity", "steps"]
*/
constexpr float LEAK = 0.96f, INHIBITION = 0.0004f;

// One time step of a neuron's potential; whether it fires.
__device__ bool fires(float& potential, float drive, float inhibition)
{
    potential = fmaf(potential, LEAK, drive) - inhibition;
    const bool spike = potential > 1.0f;
    if (spike) potential = 0.0f;
    return spike;
}

extern "C" __global__ void __launch_bounds__(REPAIRED ? 128 : 1024) spiking_network(
    const float* __restrict__ current, int* __restrict__ activity, int steps)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int spikes = 0;
#if REPAIRED
    const int network = blockIdx.x * 4 + warp;
    float potential[32], drive[32];
#pragma unroll
    for (int k = 0; k < 32; ++k) {
        potential[k] = 0.0f;
        drive[k] = 0.06f + 0.03f * current[network * 1024 + k * 32 + lane];
    }
    for (int step = 0; step < steps; ++step) {
        const float inhibition = INHIBITION * spikes;
        int mine = 0;
#pragma unroll
        for (int k = 0; k < 32; ++k) mine += fires(potential[k], drive[k], inhibition);
        spikes = __reduce_add_sync(~0u, mine);
        if (lane == 0) activity[network * steps + step] = spikes;
    }
#else
    __shared__ int counts[32], total;
    const float drive = 0.06f + 0.03f * current[blockIdx.x * 1024 + threadIdx.x];
    float potential = 0.0f;
    for (int step = 0; step < steps; ++step) {
        const unsigned fired = __ballot_sync(~0u, fires(potential, drive, INHIBITION * spikes));
        if (lane == 0) counts[warp] = __popc(fired);
        __syncthreads();
        if (warp == 0) {
            const int sum = __reduce_add_sync(~0u, counts[lane]);
            if (lane == 0) activity[blockIdx.x * steps + step] = total = sum;
        }
        __syncthreads();
        spikes = total;
    }
#endif
}
