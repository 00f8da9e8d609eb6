// Planted: every frame allocates and frees its 64 MB scratch array. Repair: it is allocated once.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#ifndef REPAIRED
#define REPAIRED 0
#endif

#define CHECK(call) \
    do { \
        const cudaError_t error = (call); \
        if (error != cudaSuccess) { \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            std::exit(1); \
        } \
    } while (0)

constexpr int QUADS = 4 << 20, FRAMES = 200;  // float4 per frame
constexpr size_t BYTES = sizeof(float4) * QUADS;

__global__ void drift(const float4* __restrict__ from, float4* __restrict__ to, float gain)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 v = from[i];
    to[i] = make_float4(gain * v.x, gain * v.y, gain * v.z, gain * v.w);
}

int main()
{
    float4 *image, *scratch;
    CHECK(cudaMalloc(&image, BYTES));
    CHECK(cudaMemset(image, 0x3f, BYTES));
#if REPAIRED
    CHECK(cudaMalloc(&scratch, BYTES));
#endif
    for (int frame = 0; frame < FRAMES; ++frame) {
#if !REPAIRED
        CHECK(cudaMalloc(&scratch, BYTES));
#endif
        drift<<<QUADS / 256, 256>>>(image, scratch, 0.5f);
        drift<<<QUADS / 256, 256>>>(scratch, image, 2.0f);
        CHECK(cudaGetLastError());
#if !REPAIRED
        CHECK(cudaFree(scratch));
#endif
    }
#if REPAIRED
    CHECK(cudaFree(scratch));
#endif
    float corner;
    CHECK(cudaMemcpy(&corner, image, sizeof corner, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(image));
    std::printf("%g\n", corner);
}
