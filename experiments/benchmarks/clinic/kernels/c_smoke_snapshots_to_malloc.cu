// Planted: snapshots of a smoke simulation are fetched into memory from malloc, which the driver must stage.
// Repair: into page-locked memory.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

#include <cstring>

__device__ float cooled(float t)  // radiation: the fourth power of the temperature above the ambient air
{
    const float square = (t - 0.3f) * (t - 0.3f);
    return t - 0.01f * square * square;
}

__global__ void cool_smoke(float4* temperature)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    float4 t = temperature[i];
    t.x = cooled(t.x);
    t.y = cooled(t.y);
    t.z = cooled(t.z);
    t.w = cooled(t.w);
    temperature[i] = t;
}

int main()
{
    const int cells = 256 * 256 * 256, snapshots = 5;
    const size_t bytes = cells * sizeof(float);  // 67 MB
    float4* temperature;
    CHECK(cudaMalloc(&temperature, bytes));
    CHECK(cudaMemset(temperature, 0, bytes));
    char* host;  // one place per snapshot
#if REPAIRED
    CHECK(cudaMallocHost(&host, snapshots * bytes));
#else
    host = (char*)malloc(snapshots * bytes);
    if (!host) return 1;
#endif
    memset(host, 0, snapshots * bytes);  // the pages exist before the copies begin
    for (int snapshot = 0; snapshot < snapshots; ++snapshot) {
        cool_smoke<<<cells / 1024, 256>>>(temperature);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host + snapshot * bytes, temperature, bytes, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaDeviceSynchronize());
#if REPAIRED
    CHECK(cudaFreeHost(host));
#else
    free(host);
#endif
    CHECK(cudaFree(temperature));
    return 0;
}
