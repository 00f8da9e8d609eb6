// Planted: the host waits for the device after each of 600 relaxation sweeps before it launches the
// next. Repair: it waits once, at the end; a stream keeps order by itself.
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

constexpr int ROWS = 2048, QUADS = 512, SWEEPS = 600;  // float4 per row
constexpr int DEEP = 8;                                // rows per thread

// One sweep towards the mean of the rows above and below; the border is mirrored.
__global__ void relax(const float4* __restrict__ from, float4* __restrict__ to)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * DEEP;
    float4 above = from[max(first - 1, 0) * QUADS + x], here = from[first * QUADS + x];
#pragma unroll
    for (int y = first; y < first + DEEP; ++y) {
        const float4 below = from[min(y + 1, ROWS - 1) * QUADS + x];
        to[y * QUADS + x] = make_float4(
            0.25f * (above.x + below.x) + 0.5f * here.x, 0.25f * (above.y + below.y) + 0.5f * here.y,
            0.25f * (above.z + below.z) + 0.5f * here.z, 0.25f * (above.w + below.w) + 0.5f * here.w);
        above = here;
        here = below;
    }
}

int main()
{
    constexpr size_t BYTES = sizeof(float4) * ROWS * QUADS;
    float4 *now, *next;
    CHECK(cudaMalloc(&now, BYTES));
    CHECK(cudaMalloc(&next, BYTES));
    CHECK(cudaMemset(now, 0x3f, BYTES));
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        relax<<<dim3(QUADS / 256, ROWS / DEEP), 256>>>(now, next);
        CHECK(cudaGetLastError());
        float4* const swapped = now;
        now = next;
        next = swapped;
#if !REPAIRED
        CHECK(cudaDeviceSynchronize());
#endif
    }
    float corner[4];
    CHECK(cudaMemcpy(corner, now, sizeof corner, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(now));
    CHECK(cudaFree(next));
    std::printf("%g\n", corner[0]);
}
