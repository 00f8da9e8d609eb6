// Planted: a strip of an image is filtered from top to bottom; four rows at a time are loaded, waited
// for, blurred, and only then the next are asked for. Repair: cp.async runs twelve rows ahead.
/* rooftree
[shape]
width = 2048
height = 2048
planes = 16
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "picture"
role = "input"
shape = ["planes", "height", "width + 8"]
[[buffer]]
name = "glowing"
role = "output"
shape = ["planes", "height", "width"]
[cost]
bytes = "4 * planes * height * (2 * width + 8)"
flops = "22 * planes * height * width"
[[launch]]
kernel = "glow"
grid = ["width // 256", "planes"]
block = [256]
args = ["picture", "glowing", "width", "height"]
*/
constexpr int ROWS = 4, QUADS = 66, SLOTS = REPAIRED ? 4 : 1;  // 264 columns, with borders

__device__ void copy(float4* to, const float4* from)
{
#if REPAIRED
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from) : "memory");
#else
    *to = *from;
#endif
}

// A binomial blur along x and a trail that fades downwards, added to the picture.
extern "C" __global__ void __launch_bounds__(256)
    glow(const float* __restrict__ picture, float* __restrict__ glowing, int width, int height)
{
    __shared__ float4 rows[SLOTS][ROWS][QUADS];
    const float tap[9] = {1, 8, 28, 56, 70, 56, 28, 8, 1};
    const int t = threadIdx.x, pitch = width + 8, steps = height / ROWS;
    const float* source = picture + blockIdx.y * height * pitch + blockIdx.x * 256;
    float* to = glowing + blockIdx.y * height * width + blockIdx.x * 256 + t;
    auto fetch = [&](int step) {
        if (step < steps)
#pragma unroll
            for (int k = 0; k < 2; ++k)
                if (const int i = t + k * 256; i < ROWS * QUADS)
                    copy(&rows[step % SLOTS][0][0] + i,
                        (const float4*)(source + (step * ROWS + i / QUADS) * pitch) + i % QUADS);
    };
#if REPAIRED
    for (int ahead = 0; ahead < SLOTS - 1; ++ahead) {
        fetch(ahead);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
#endif
    float trail = 0.0f;
    for (int step = 0; step < steps; ++step) {
#if REPAIRED
        asm volatile("cp.async.wait_group %0;" ::"n"(SLOTS - 2) : "memory");
        __syncthreads();
        fetch(step + SLOTS - 1);
        asm volatile("cp.async.commit_group;" ::: "memory");
#else
        __syncthreads();
        fetch(step);
        __syncthreads();
#endif
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const float* x = (const float*)rows[step % SLOTS][r] + t;
            float blurred = 0.0f;
#pragma unroll
            for (int k = 0; k < 9; ++k)
                blurred += tap[k] * x[k];
            trail = 0.9f * trail + 0.1f / 256 * blurred;
            to[(step * ROWS + r) * width] = x[4] + 0.5f * trail;
        }
    }
}
