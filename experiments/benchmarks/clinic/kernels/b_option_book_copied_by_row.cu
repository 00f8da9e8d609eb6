// Planted: a book of 8192 options goes to the device in one copy per option, 32 bytes each.
// Repair: one copy of the whole book.
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

struct Option {
    float spot, strike, drift, volatility, years, barrier, notional, unused;
};

constexpr int OPTIONS = 8192, PATHS = 256, STEPS = 512;

// Mean payoff of a knock-out call, one thread per path, shocks as sums of four uniform ones.
__global__ void price(const Option* book, float* value)
{
    const Option option = book[blockIdx.x];
    const float dt = option.years / STEPS;
    unsigned state = blockIdx.x * 9781u + threadIdx.x * 6271u + 1u;
    float level = option.spot, alive = 1.0f;
    for (int step = 0; step < STEPS; ++step) {
        float shock = -6.0f;
        for (int k = 0; k < 4; ++k) {
            state = state * 1664525u + 1013904223u;
            shock += __uint_as_float(0x3f800000u | state >> 9);
        }
        level *= 1.0f + option.drift * dt + option.volatility * shock * 0.05f;
        alive = level > option.barrier ? 0.0f : alive;
    }
    float payoff = alive * fmaxf(level - option.strike, 0.0f) * option.notional;
    for (int d = 16; d > 0; d /= 2)
        payoff += __shfl_down_sync(~0u, payoff, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&value[blockIdx.x], payoff / PATHS);
}

int main()
{
    Option *book, *device_book;
    float *value, first;
    CHECK(cudaMallocHost(&book, OPTIONS * sizeof(Option)));
    CHECK(cudaMalloc(&device_book, OPTIONS * sizeof(Option)));
    CHECK(cudaMalloc(&value, OPTIONS * sizeof(float)));
    CHECK(cudaMemsetAsync(value, 0, OPTIONS * sizeof(float)));
    for (int i = 0; i < OPTIONS; ++i)
        book[i] = {100.0f, 90.0f + i % 20, 0.02f, 0.2f, 1.0f, 200.0f, 1.0f, 0.0f};
#if REPAIRED
    CHECK(cudaMemcpyAsync(device_book, book, OPTIONS * sizeof(Option), cudaMemcpyHostToDevice));
#else
    for (int i = 0; i < OPTIONS; ++i)
        CHECK(cudaMemcpyAsync(device_book + i, book + i, sizeof(Option), cudaMemcpyHostToDevice));
#endif
    price<<<OPTIONS, PATHS>>>(device_book, value);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&first, value, sizeof first, cudaMemcpyDeviceToHost));
    std::printf("%g\n", first);
    CHECK(cudaFreeHost(book));
    CHECK(cudaFree(device_book));
    CHECK(cudaFree(value));
}
