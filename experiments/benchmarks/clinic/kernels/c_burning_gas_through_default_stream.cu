// Planted: the blocks of a burning gas are spread over four streams, but the copy back was given no stream: the
// default stream waits for all others and they for it, so nothing overlaps. Repair: it names its stream.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__device__ float burnt(float c) { return fmaf(0.002f * c, 1.0f - c, c); }  // one sub-step of c' = c (1 - c)

__global__ void burn(float4* progress)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    float4 c = progress[i];
    #pragma unroll 16
    for (int step = 0; step < 1024; ++step)
        c = make_float4(burnt(c.x), burnt(c.y), burnt(c.z), burnt(c.w));
    progress[i] = c;
}

int main()
{
    const int streams = 4, parts = 24, cells = 4 * 1056 * 1024;  // four full waves of 132 SMs
    const size_t bytes = cells * sizeof(float);                  // 17 MB
    cudaStream_t stream[streams];
    float *before[streams], *after[streams], *progress[streams];
    for (int s = 0; s < streams; ++s) {
        CHECK(cudaStreamCreate(&stream[s]));
        CHECK(cudaMallocHost(&before[s], bytes));
        CHECK(cudaMallocHost(&after[s], bytes));
        CHECK(cudaMalloc(&progress[s], bytes));
        for (int i = 0; i < cells; ++i)
            before[s][i] = (i % 1000 + 1) * 0.0005f;
    }
    for (int part = 0; part < parts; ++part) {
        const int s = part % streams;
        CHECK(cudaMemcpyAsync(progress[s], before[s], bytes, cudaMemcpyHostToDevice, stream[s]));
        burn<<<cells / 1024, 256, 0, stream[s]>>>((float4*)progress[s]);
        CHECK(cudaGetLastError());
#if REPAIRED
        CHECK(cudaMemcpyAsync(after[s], progress[s], bytes, cudaMemcpyDeviceToHost, stream[s]));
#else
        CHECK(cudaMemcpyAsync(after[s], progress[s], bytes, cudaMemcpyDeviceToHost));
#endif
    }
    CHECK(cudaDeviceSynchronize());
    printf("%g\n", after[0][0]);
    for (int s = 0; s < streams; ++s) {
        CHECK(cudaFree(progress[s]));
        CHECK(cudaFreeHost(after[s]));
        CHECK(cudaFreeHost(before[s]));
        CHECK(cudaStreamDestroy(stream[s]));
    }
    return 0;
}
