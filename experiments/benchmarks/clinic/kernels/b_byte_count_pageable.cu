// Planted: 32 MB chunks of text are copied to the device from ordinary (pageable) memory, which the
// driver must stage. Repair: page-locked memory from cudaMallocHost.
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

constexpr size_t BYTES = 32 << 20;
constexpr int CHUNKS = 8;

__global__ void count_newlines(const uint4* __restrict__ text, int quads, unsigned* count)
{
    unsigned found = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        const uint4 v = text[i];
        found += __popc(__vcmpeq4(v.x, 0x0a0a0a0au)) + __popc(__vcmpeq4(v.y, 0x0a0a0a0au));
        found += __popc(__vcmpeq4(v.z, 0x0a0a0a0au)) + __popc(__vcmpeq4(v.w, 0x0a0a0a0au));
    }
    for (int d = 16; d > 0; d /= 2)
        found += __shfl_down_sync(~0u, found, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(count, found / 8);  // eight bits for each match
}

int main()
{
    char *text, *device_text;
    unsigned *count, total;
#if REPAIRED
    CHECK(cudaMallocHost(&text, BYTES));
#else
    text = static_cast<char*>(std::malloc(BYTES));
#endif
    for (size_t i = 0; i < BYTES; ++i)
        text[i] = static_cast<char>(i * 37 % 101);
    CHECK(cudaMalloc(&device_text, BYTES));
    CHECK(cudaMalloc(&count, sizeof *count));
    CHECK(cudaMemset(count, 0, sizeof *count));
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
        CHECK(cudaMemcpyAsync(device_text, text, BYTES, cudaMemcpyHostToDevice));
        count_newlines<<<1056, 256>>>(
            reinterpret_cast<const uint4*>(device_text), BYTES / sizeof(uint4), count);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(&total, count, sizeof total, cudaMemcpyDeviceToHost));
    std::printf("%u\n", total);
    CHECK(cudaFree(device_text));
    CHECK(cudaFree(count));
}
