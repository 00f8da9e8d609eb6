// Planted: seismic arrival times are 64-bit nanoseconds, and every event subtracts every window's centre in
// integers and converts the difference to float. Repair: times are converted once, relative to the epoch.
/* rooftree
[shape]
events = 8388608
windows = 128
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "arrival"
role = "input"
dtype = "int64"
shape = ["events"]
[[buffer]]
name = "centre"
role = "input"
dtype = "int64"
shape = ["windows"]
[[buffer]]
name = "weight"
role = "output"
shape = ["events"]
[cost]
bytes = "12 * events"
flops = "4 * windows * events"
[[launch]]
kernel = "window_weights"
grid = ["events // 512"]
block = [256]
args = ["arrival", "centre", "weight"]
*/
#define WINDOWS 128
#define PER_WIDTH (1.0f / 68719476736.0f)  // windows reach 2^36 ns, about 69 s, to either side
#if REPAIRED
typedef float Time;
#else
typedef long long Time;
#endif

// The clock's low 40 bits: 18 minutes of recording.
__device__ Time on_axis(long long stamp) { return (Time)(stamp & 0xffffffffffLL); }

__device__ float triangle(Time t, Time centre)
{
    const float offset = (float)(t - centre);
    return fmaxf(1.0f - fabsf(offset) * PER_WIDTH, 0.0f);
}

extern "C" __global__ void window_weights(const longlong2* __restrict__ arrival,
    const long long* __restrict__ centre, float2* __restrict__ weight)
{
    __shared__ Time middle[WINDOWS];
    if (threadIdx.x < WINDOWS)
        middle[threadIdx.x] = on_axis(centre[threadIdx.x]);
    __syncthreads();
    const int i = blockIdx.x * 256 + threadIdx.x;
    const longlong2 stamps = arrival[i];
    const Time a = on_axis(stamps.x), b = on_axis(stamps.y);
    float2 sum = {};
#pragma unroll 16
    for (int w = 0; w < WINDOWS; ++w) {
        sum.x += triangle(a, middle[w]);
        sum.y += triangle(b, middle[w]);
    }
    weight[i] = sum;
}
