// Planted: four heads run in streams of their own, but a memset on the legacy default stream between
// them makes each wait for all before it. Repair: non-blocking streams, each with its own memset.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__global__ void head(float* scores, int rounds)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = scores[i] + i * 1e-6f;
    for (int r = 0; r < rounds; ++r)
        v = v * 0.9999f + 0.0001f;
    scores[i] = v;
}

int main()
{
    const int heads = 4, blocks = 24, threads = 256;
    cudaStream_t streams[heads];
    float* scores[heads];
    for (int h = 0; h < heads; ++h) {
        CHECK(cudaStreamCreateWithFlags(&streams[h],
            REPAIRED ? cudaStreamNonBlocking : cudaStreamDefault));
        CHECK(cudaMalloc(&scores[h], blocks * threads * sizeof(float)));
    }
    for (int layer = 0; layer < 50; ++layer)
        for (int h = 0; h < heads; ++h) {
            const size_t bytes = blocks * threads * sizeof(float);
#if REPAIRED
            CHECK(cudaMemsetAsync(scores[h], 0, bytes, streams[h]));
#else
            CHECK(cudaMemset(scores[h], 0, bytes));
#endif
            head<<<blocks, threads, 0, streams[h]>>>(scores[h], 20000);
        }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
