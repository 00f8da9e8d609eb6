// Planted: even frequencies run over the folded sums, odd ones over the differences, in neighbouring
// lanes of one warp. Repair: one loop for both; the parity only chooses the folded row.
/* rooftree
[shape]
frames = 65536
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "audio"
role = "input"
shape = ["frames", 512]
[[buffer]]
name = "spectrum"
role = "output"
shape = ["frames", 512]
[cost]
bytes = "8 * 512 * frames"
flops = "2 * 256 * 512 * frames"
[[launch]]
kernel = "cosine_transform"
grid = ["frames // 8"]
block = [256]
args = ["audio", "spectrum"]
*/
constexpr int LENGTH = 512, HALF = LENGTH / 2, FRAMES = 8;  // frames of a block

__device__ void accumulate(float (&sum)[FRAMES], float4 first, float4 second, float c)
{
    sum[0] += first.x * c, sum[1] += first.y * c, sum[2] += first.z * c, sum[3] += first.w * c;
    sum[4] += second.x * c, sum[5] += second.y * c, sum[6] += second.z * c, sum[7] += second.w * c;
}

struct Cosine {  // c_n = 2 cos(w) c_(n-1) - c_(n-2)
    float twice, now, before;
    __device__ Cosine(int k) : twice(2.0f * cospif(k * (1.0f / LENGTH))), now(cospif(k * (0.5f / LENGTH))), before(now) {}
    __device__ void step() { const float after = twice * now - before; before = now, now = after; }
};

extern "C" __global__ void __launch_bounds__(256)
    cosine_transform(const float* __restrict__ audio, float* __restrict__ spectrum)
{
    __shared__ float4 folded[2][2 * HALF + 1];  // sums, differences; eight frames side by side
    const int k = threadIdx.x, first = blockIdx.x * FRAMES;  // frequencies k and k + 256
    for (int e = k; e < FRAMES * HALF; e += HALF) {
        const int frame = e % FRAMES, n = e / FRAMES;
        const float* row = audio + (first + frame) * LENGTH;
        ((float*)folded[0])[e] = row[n] + row[LENGTH - 1 - n];
        ((float*)folded[1])[e] = row[n] - row[LENGTH - 1 - n];
    }
    __syncthreads();
    float low[FRAMES] = {}, high[FRAMES] = {};
    Cosine c(k), d(k + HALF);
    const auto run = [&](const float4* row) {
#pragma unroll 8
        for (int n = 0; n < HALF; ++n, c.step(), d.step()) {
            const float4 left = row[2 * n], right = row[2 * n + 1];
            accumulate(low, left, right, c.now);
            accumulate(high, left, right, d.now);
        }
    };
#if REPAIRED
    run(folded[k % 2]);
#else
    if (k % 2 == 0)
        run(folded[0]);
    else
        run(folded[1]);
#endif
    for (int frame = 0; frame < FRAMES; ++frame) {
        spectrum[(first + frame) * LENGTH + k] = low[frame];
        spectrum[(first + frame) * LENGTH + k + HALF] = high[frame];
    }
}
