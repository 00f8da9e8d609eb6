// Planted: a temporal video filter allocates a new picture for each frame and frees the one before. Repair: two
// pictures, allocated once, change places.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__device__ float blended(float seen, float past)
{
    const float change = seen - past;
    return fmaf(fabsf(change) < 0.1f ? 0.2f : 0.8f, change, past);  // still parts are smoothed more
}

__global__ void temporal_filter(const float4* __restrict__ frame, const float4* __restrict__ past,
                                float4* __restrict__ now)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 seen = frame[i], old = past[i];
    now[i] = make_float4(blended(seen.x, old.x), blended(seen.y, old.y),
                         blended(seen.z, old.z), blended(seen.w, old.w));
}

int main()
{
    const int values = 3 * 3840 * 2160, frames = 80;  // three planes of a 4K picture, 100 MB
    const size_t bytes = values * sizeof(float);
    float4 *frame, *past, *now;
    CHECK(cudaMalloc(&frame, bytes));
    CHECK(cudaMalloc(&past, bytes));
    CHECK(cudaMemset(frame, 0, bytes));
    CHECK(cudaMemset(past, 0, bytes));
#if REPAIRED
    CHECK(cudaMalloc(&now, bytes));
#endif
    for (int f = 0; f < frames; ++f) {
#if !REPAIRED
        CHECK(cudaMalloc(&now, bytes));
#endif
        temporal_filter<<<values / 1024, 256>>>(frame, past, now);
        CHECK(cudaGetLastError());
#if REPAIRED
        float4* const spare = past;
        past = now;
        now = spare;
#else
        CHECK(cudaFree(past));
        past = now;
#endif
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
