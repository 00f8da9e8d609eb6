// Planted: the scan of a state-space model loads 16 steps into shared memory, waits, runs them, and
// loads the next; batch and channels give one block of four warps per multiprocessor. Repair: cp.async
// fetches the following 16 steps into a second buffer meanwhile.
/* rooftree
[shape]
batch = 8
steps = 2048
channels = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["batch", "steps", "channels"]
[[buffer]]
name = "dt"
role = "input"
shape = ["batch", "steps", "channels"]
[[buffer]]
name = "b"
role = "input"
shape = ["batch", "steps", 16]
[[buffer]]
name = "c"
role = "input"
shape = ["batch", "steps", 16]
[[buffer]]
name = "y"
role = "output"
shape = ["batch", "steps", "channels"]
[cost]
bytes = "12 * batch * steps * channels + 128 * batch * steps"
flops = "82 * batch * steps * channels"
[[launch]]
kernel = "selective_scan"
grid = ["channels // 128", "batch"]
block = [128]
args = ["x", "dt", "b", "c", "y", "steps", "channels"]
*/
constexpr int STEPS = 16, STATES = 16;
struct Tile { float4 x[STEPS][32], dt[STEPS][32], bc[2][STEPS][STATES / 4]; };

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

extern "C" __global__ void __launch_bounds__(128) selective_scan(const float4* __restrict__ x,
    const float4* __restrict__ dt, const float4* __restrict__ b, const float4* __restrict__ c,
    float* __restrict__ y, int steps, int channels)
{
    __shared__ Tile tiles[1 + REPAIRED];
    const int t = threadIdx.x, begin = blockIdx.y * steps;
    auto fetch = [&](int step) {
        Tile& tile = tiles[REPAIRED ? step / STEPS % 2 : 0];
        const int from = (begin + step + t / 32) * (channels / 4) + blockIdx.x * 32 + t % 32;
        copy<1>(&tile.bc[0][0][0] + t, (t < 64 ? b : c) + (begin + step) * 4 + t % 64, 0);
        copy<4>(&tile.x[0][0] + t, x + from, channels);
        copy<4>(&tile.dt[0][0] + t, dt + from, channels);
    };
    float h[STATES] = {};
#if REPAIRED
    fetch(0);
#endif
    for (int step = 0; step < steps; step += STEPS) {
#if REPAIRED
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (step + STEPS < steps)
            fetch(step + STEPS);
#else
        __syncthreads();
        fetch(step);
        __syncthreads();
#endif
        const Tile& tile = tiles[REPAIRED ? step / STEPS % 2 : 0];
#pragma unroll 4
        for (int s = 0; s < STEPS; ++s) {
            const float delta = fabsf(((const float*)tile.dt[s])[t]), keep = __expf(-delta);
            const float input = delta * ((const float*)tile.x[s])[t];
            float4 out = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
            for (int k = 0; k < STATES / 4; ++k) {
                const float4 in = tile.bc[0][s][k], read = tile.bc[1][s][k];
                out.x += read.x * (h[4 * k] = keep * h[4 * k] + input * in.x);
                out.y += read.y * (h[4 * k + 1] = keep * h[4 * k + 1] + input * in.y);
                out.z += read.z * (h[4 * k + 2] = keep * h[4 * k + 2] + input * in.z);
                out.w += read.w * (h[4 * k + 3] = keep * h[4 * k + 3] + input * in.w);
            }
            y[(begin + step + s) * channels + blockIdx.x * 128 + t] = out.x + out.y + out.z + out.w;
        }
    }
}
