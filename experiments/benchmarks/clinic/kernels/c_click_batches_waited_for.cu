// Planted: a recommender waits for the device after every batch of click logits. Repair: it waits once, at the end.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__device__ float probability(float logit) { return __fdividef(1.0f, 1.0f + __expf(-logit)); }

__global__ void click_probabilities(const float4* __restrict__ logits, float4* __restrict__ clicks)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 x = logits[i];
    clicks[i] = make_float4(probability(x.x), probability(x.y), probability(x.z), probability(x.w));
}

int main()
{
    const int blocks = 4 * 1056;                          // four full waves of 132 SMs
    const size_t batch = blocks * 256, batches = 12;      // float4s: 2816 users x 1536 items, 17 MB
    const int requests = 800;
    float4 *logits, *clicks;
    CHECK(cudaMalloc(&logits, batches * batch * sizeof(float4)));
    CHECK(cudaMalloc(&clicks, batches * batch * sizeof(float4)));
    CHECK(cudaMemset(logits, 0, batches * batch * sizeof(float4)));
    for (int request = 0; request < requests; ++request) {
        const size_t first = request % batches * batch;   // the batches together are far larger than L2
        click_probabilities<<<blocks, 256>>>(logits + first, clicks + first);
        CHECK(cudaGetLastError());
#if !REPAIRED
        CHECK(cudaDeviceSynchronize());
#endif
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(clicks));
    CHECK(cudaFree(logits));
    return 0;
}
