// Planted: an acoustic model's likelihood of a frame is the log-sum-exp of 512 Gaussians, merged in a shared-memory tree:
// 352 barriers for a block's 32 frames. Repair: shuffles, the warps' parts put aside, one barrier for all frames.
/* rooftree
[shape]
frames = 270336
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "features"
role = "input"
shape = ["frames", 8]
[[buffer]]
name = "means"
role = "input"
shape = [8, 512]
[[buffer]]
name = "precisions"
role = "input"
shape = [8, 512]
[[buffer]]
name = "log_likelihood"
role = "output"
shape = ["frames"]
[cost]
bytes = "36 * frames + 32768"
flops = "28 * 512 * frames"
[[launch]]
kernel = "score_frames"
grid = ["frames // 32"]
block = [512]
args = ["features", "means", "precisions", "log_likelihood"]
*/
constexpr int FRAMES = 32, DIMS = 8, GAUSSIANS = 512;

extern "C" __global__ void score_frames(const float* __restrict__ features, const float* __restrict__ means,
    const float* __restrict__ precisions, float* __restrict__ log_likelihood)
{
    __shared__ __align__(16) float frames[FRAMES][DIMS];
    __shared__ float2 parts[FRAMES][16];
    const int g = threadIdx.x, first = blockIdx.x * FRAMES;
    float mean[DIMS], half_precision[DIMS], bias = -6.238325f;  // of equal weights
    for (int d = 0; d < DIMS; ++d) {
        mean[d] = means[d * GAUSSIANS + g];
        half_precision[d] = 0.2f + fabsf(precisions[d * GAUSSIANS + g]);
        bias += 0.5f * __logf(0.3183099f * half_precision[d]);
    }
    if (g < FRAMES * DIMS)
        frames[g / DIMS][g % DIMS] = features[first * DIMS + g];
    __syncthreads();
#pragma unroll 1
    for (int f = 0; f < FRAMES; ++f) {
        float density = bias;
        for (int d = 0; d < DIMS; ++d) {
            const float off = frames[f][d] - mean[d];
            density -= off * off * half_precision[d];
        }
#if REPAIRED
        float top = density;
        for (int d = 16; d > 0; d /= 2)
            top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
        float sum = __expf(density - top);
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(~0u, sum, d);
        if (g % 32 == 0)
            parts[f][g / 32] = make_float2(top, sum);
    }
    __syncthreads();
    const float2 part = parts[g / 16][g % 16];
    float top = part.x;
    for (int d = 8; d > 0; d /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    float sum = part.y * __expf(part.x - top);
    for (int d = 8; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (g % 16 == 0)
        log_likelihood[first + g / 16] = top + __logf(sum);
#else
        float* tree = &parts[0][0].x;
        tree[g] = density;
        __syncthreads();
        for (int half = GAUSSIANS / 2; half > 0; half /= 2) {
            if (g < half) {
                const float high = fmaxf(tree[g], tree[g + half]), low = fminf(tree[g], tree[g + half]);
                tree[g] = high + __logf(1.0f + __expf(low - high));
            }
            __syncthreads();
        }
        if (g == 0)
            log_likelihood[first + f] = tree[0];
    }
#endif
}
