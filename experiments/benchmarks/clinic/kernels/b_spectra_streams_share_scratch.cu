// Planted: four streams, but all of them work in one scratch array, so that events make each frame
// wait for the one before. Repair: a scratch array per stream.
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

constexpr int STREAMS = 4, FRAMES = 12, SAMPLES = 1 << 17, BINS = 8192;
constexpr int SCRATCHES = REPAIRED ? STREAMS : 1;

// Power of the frame at one frequency per thread, by Goertzel's recurrence; 32 blocks.
__global__ void power_spectrum(const float* frame, float* power)
{
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    const float turn = 2.0f * cospif(static_cast<float>(bin) / BINS);
    float s1 = 0.0f, s2 = 0.0f;
    for (int i = 0; i < SAMPLES; i += 4) {
        const float4 v = *reinterpret_cast<const float4*>(frame + i);
        const float a = turn * s1 - s2 + v.x, b = turn * a - s1 + v.y;
        s2 = turn * b - a + v.z;
        s1 = turn * s2 - b + v.w;
    }
    power[bin] = s1 * s1 + s2 * s2 - turn * s1 * s2;
}

int main()
{
    float *samples, *power, *scratch[SCRATCHES], last;
    cudaStream_t stream[STREAMS];
    cudaEvent_t done[SCRATCHES];
    CHECK(cudaMallocHost(&samples, FRAMES * SAMPLES * sizeof(float)));
    CHECK(cudaMalloc(&power, FRAMES * BINS * sizeof(float)));
    for (int i = 0; i < FRAMES * SAMPLES; ++i)
        samples[i] = static_cast<float>(i % 97) / 97;
    for (auto& one : stream)
        CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    for (int i = 0; i < SCRATCHES; ++i) {
        CHECK(cudaMalloc(&scratch[i], SAMPLES * sizeof(float)));
        CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    }
    for (int frame = 0; frame < FRAMES; ++frame) {
        cudaStream_t mine = stream[frame % STREAMS];
        const int s = frame % SCRATCHES;
        CHECK(cudaStreamWaitEvent(mine, done[s]));  // until the scratch array is free
        CHECK(cudaMemcpyAsync(scratch[s], samples + frame * SAMPLES, SAMPLES * sizeof(float),
            cudaMemcpyHostToDevice, mine));
        power_spectrum<<<BINS / 256, 256, 0, mine>>>(scratch[s], power + frame * BINS);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(done[s], mine));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&last, power + FRAMES * BINS - 1, sizeof last, cudaMemcpyDeviceToHost));
    std::printf("%g\n", last);
}
