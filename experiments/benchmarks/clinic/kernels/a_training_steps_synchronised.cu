// Planted: the host waits for the device after every training step. Repair: it waits once at the end.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__global__ void update(float* weights, const float* gradient, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        weights[i] -= 0.01f * gradient[i];
}

int main()
{
    const int n = 1 << 22, steps = 500;
    float *weights, *gradient;
    CHECK(cudaMalloc(&weights, n * sizeof(float)));
    CHECK(cudaMalloc(&gradient, n * sizeof(float)));
    CHECK(cudaMemset(weights, 0, n * sizeof(float)));
    CHECK(cudaMemset(gradient, 0, n * sizeof(float)));
    for (int step = 0; step < steps; ++step) {
        update<<<1056, 256>>>(weights, gradient, n);
#if !REPAIRED
        CHECK(cudaDeviceSynchronize());
#endif
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
