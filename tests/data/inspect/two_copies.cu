// A program: scales numbers on the device, a little at a time.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#ifndef PIECES
#define PIECES 64
#endif

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t error = (call);                                                  \
        if (error != cudaSuccess) {                                                  \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));      \
            std::exit(3);                                                            \
        }                                                                            \
    } while (0)

__global__ void scale(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
    float* host = static_cast<float*>(std::calloc(n, sizeof(float)));
    float* device = nullptr;
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    for (int piece = 0; piece < PIECES; ++piece) {
        CHECK(cudaMemcpy(device, host, n * sizeof(float), cudaMemcpyHostToDevice));
        scale<<<(n + 255) / 256, 256>>>(device, n);
        CHECK(cudaMemcpy(host, device, n * sizeof(float), cudaMemcpyDeviceToHost));
    }
    std::printf("%f\n", host[0]);
    return 0;
}
