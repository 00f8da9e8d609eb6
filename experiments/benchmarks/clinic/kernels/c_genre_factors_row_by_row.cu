// Planted: the new preference vectors of 512 genres go to the device one 512-byte row at a time, each round.
// Repair: one copy of all rows, which lie side by side on both sides.
#include <cstdio>
#include <cstdlib>
#ifndef REPAIRED
#define REPAIRED 0
#endif
#define CHECK(call) if ((call) != cudaSuccess) { printf("failed: %s\n", #call); exit(1); }

const int FACTORS = 128, GENRES = 512, ITEMS = 786432;

// An item's factors drift towards those of its genre; one float4 per thread.
__global__ void follow_genre(float4* __restrict__ items, const float4* __restrict__ genres)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 goal = genres[i % (GENRES * FACTORS / 4)];  // genre = item % GENRES: a mask, 256 KB in L2
    float4 item = items[i];
    item.x += 0.1f * (goal.x - item.x);
    item.y += 0.1f * (goal.y - item.y);
    item.z += 0.1f * (goal.z - item.z);
    item.w += 0.1f * (goal.w - item.w);
    items[i] = item;
}

int main()
{
    const int rounds = 32;
    const size_t row = FACTORS * sizeof(float);
    float *host, *genres, *items;
    CHECK(cudaMallocHost(&host, rounds * GENRES * row));
    for (int i = 0; i < rounds * GENRES * FACTORS; ++i)
        host[i] = i % 1000 * 0.001f;
    CHECK(cudaMalloc(&genres, GENRES * row));
    CHECK(cudaMalloc(&items, ITEMS * row));
    CHECK(cudaMemset(items, 0, ITEMS * row));
    for (int round = 0; round < rounds; ++round) {
        const float* fresh = host + (size_t)round * GENRES * FACTORS;
#if REPAIRED
        CHECK(cudaMemcpyAsync(genres, fresh, GENRES * row, cudaMemcpyHostToDevice));
#else
        for (int genre = 0; genre < GENRES; ++genre)
            CHECK(cudaMemcpyAsync(genres + genre * FACTORS, fresh + genre * FACTORS, row, cudaMemcpyHostToDevice));
#endif
        follow_genre<<<ITEMS / 256 * (FACTORS / 4), 256>>>((float4*)items, (const float4*)genres);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(items));
    CHECK(cudaFree(genres));
    CHECK(cudaFreeHost(host));
    return 0;
}
