// Planted: every event adds to one of eight totals in global memory. Repair: every warp has totals
// of its own in shared memory, which the block adds up at its end.
/* rooftree
[shape]
events = 8388608
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "pulses"
role = "input"
shape = [16, "events"]
[[buffer]]
name = "totals"
role = "output"
dtype = "int32"
shape = [8]
[cost]
bytes = "64 * events"
flops = "20 * events"
[[launch]]
memset = "totals"
[[launch]]
kernel = "sum_by_class"
grid = [1056]
block = [256]
args = ["pulses", "totals", "events"]
*/
#define SAMPLES 16
#define CLASSES 8
#define WARPS 8

// Energy of an event: the rectified samples of its pulse, added up.
__device__ __forceinline__ float pulse_energy(const float* __restrict__ pulses, int event, int count)
{
    float energy = 0.0f;
#pragma unroll
    for (int s = 0; s < SAMPLES; ++s)
        energy += fabsf(pulses[s * count + event]);
    return energy;
}

__device__ __forceinline__ int energy_class(float energy)
{
    return min(max(static_cast<int>((energy - 8.0f) * 0.8f), 0), CLASSES - 1);
}

// Deposited energy per class of event, in eighths of a unit, so that the sum is exact.
extern "C" __global__ void __launch_bounds__(256, 8) sum_by_class(const float* __restrict__ pulses,
    int* __restrict__ totals, int count)
{
#if REPAIRED
    __shared__ int local[WARPS][CLASSES];
    if (threadIdx.x < WARPS * CLASSES)
        local[threadIdx.x / CLASSES][threadIdx.x % CLASSES] = 0;
    __syncthreads();
    int* mine = local[threadIdx.x / 32];
#else
    int* mine = totals;
#endif

    for (int event = blockIdx.x * 256 + threadIdx.x; event < count; event += gridDim.x * 256) {
        const float energy = pulse_energy(pulses, event, count);
        atomicAdd(&mine[energy_class(energy)], static_cast<int>(energy * 8.0f));
    }

#if REPAIRED
    __syncthreads();
    if (threadIdx.x < CLASSES) {
        int sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
            sum += local[w][threadIdx.x];
        atomicAdd(&totals[threadIdx.x], sum);
    }
#endif
}
