// Planted: every layer allocates and frees its scratch buffer. Repair: one buffer for all.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__global__ void layer(float* scratch, float* x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        scratch[i] = 0.5f * x[i];
        x[i] = scratch[i] + 1.0f;
    }
}

int main()
{
    const int n = 1 << 22, layers = 300;
    const size_t bytes = 2ull * n * sizeof(float);
    float *x, *scratch;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMemset(x, 0, n * sizeof(float)));
#if REPAIRED
    CHECK(cudaMalloc(&scratch, bytes));
#endif
    for (int l = 0; l < layers; ++l) {
#if !REPAIRED
        CHECK(cudaMalloc(&scratch, bytes));
#endif
        layer<<<1056, 256>>>(scratch, x, n);
#if !REPAIRED
        CHECK(cudaFree(scratch));
#endif
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
