// Planted: image batches are copied from pageable memory. Repair: from pinned memory.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__global__ void brighten(float4* pixels, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float4 v = pixels[i];
        pixels[i] = make_float4(v.x * 1.1f, v.y * 1.1f, v.z * 1.1f, v.w);
    }
}

int main()
{
    const size_t bytes = 64 << 20;
    const int batches = 12;
    float* host;
#if REPAIRED
    CHECK(cudaMallocHost(&host, bytes));
#else
    host = (float*)malloc(bytes);
#endif
    for (size_t i = 0; i < bytes / sizeof(float); ++i)
        host[i] = (float)(i % 255);
    float4* device;
    CHECK(cudaMalloc(&device, bytes));
    for (int batch = 0; batch < batches; ++batch) {
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice));
        brighten<<<bytes / sizeof(float4) / 256, 256>>>(device, bytes / sizeof(float4));
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
