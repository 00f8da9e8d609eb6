// Planted: 2048 rows of an embedding table go to the device in a copy each. Repair: they are gathered
// in one staging buffer and copied at once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

__global__ void scale(const float4* rows, float4* out)
{
    const float4 v = rows[blockIdx.x * 256 + threadIdx.x];
    out[blockIdx.x * 256 + threadIdx.x] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

int main()
{
    const size_t rows = 2048, width = 1024, row_bytes = width * sizeof(float);
    float *table, *staged, *device, *out;
    CHECK(cudaMallocHost(&table, 4 * rows * row_bytes));
    CHECK(cudaMallocHost(&staged, rows * row_bytes));
    CHECK(cudaMalloc(&device, rows * row_bytes));
    CHECK(cudaMalloc(&out, rows * row_bytes));
    for (size_t i = 0; i < 4 * rows * width; ++i)
        table[i] = (float)(i % 97) - 48.0f;
    for (int batch = 0; batch < 8; ++batch) {
        for (size_t r = 0; r < rows; ++r) {
            const float* row = table + (r * 2654435761u + batch) % (4 * rows) * width;
#if REPAIRED
            memcpy(staged + r * width, row, row_bytes);
#else
            CHECK(cudaMemcpyAsync(device + r * width, row, row_bytes, cudaMemcpyHostToDevice));
#endif
        }
#if REPAIRED
        CHECK(cudaMemcpyAsync(device, staged, rows * row_bytes, cudaMemcpyHostToDevice));
#endif
        scale<<<rows, 256>>>((float4*)device, (float4*)out);
        CHECK(cudaDeviceSynchronize());
    }
    return 0;
}
