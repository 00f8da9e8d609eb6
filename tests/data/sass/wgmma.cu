// Source of wgmma.txt: nvcc 13.0 -arch=sm_90a -lineinfo -cubin, the source named /rooftree/wgmma.cu,
// then `nvdisasm -gi -c` of the cubin. Nothing of it is ever run: the descriptors lead nowhere.
// ptxas notes of `branched` (C7515) and of `called` (C7510) that "wgmma.mma_async instructions are
// serialized", and of `touched` (C7517) that a "warpgroup.wait is injected".
#define ARRIVE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
#define WGMMA(d, a, b, constraint, add) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, " \
                 add ", 1, 1, 0, 0;" \
                 : constraint(d.v[0]), constraint(d.v[1]), constraint(d.v[2]), constraint(d.v[3]) \
                 : "l"(a), "l"(b))
#define START(d, a, b) WGMMA(d, a, b, "=f", "0")
#define MULTIPLY(d, a, b) WGMMA(d, a, b, "+f", "1")

typedef unsigned long long Tile;

struct Sums {
    float v[4];
};

__device__ __forceinline__ void store(float* out, const Sums& d)
{
    for (int i = 0; i < 4; ++i)
        out[i * 128 + threadIdx.x] = d.v[i];
}

// As it should be: while a group is waited for, the next one is in flight.
extern "C" __global__ void pipelined(float* out, Tile a, Tile b, int n)
{
    Sums d = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        ARRIVE;
        MULTIPLY(d, a, b);
        MULTIPLY(d, a + 2, b + 2);
        MULTIPLY(d, a + 4, b + 4);
        MULTIPLY(d, a + 6, b + 6);
        COMMIT;
        WAIT(1);
    }
    WAIT(0);
    store(out, d);
}

// Each group of four is waited for before the next one.
extern "C" __global__ void unpipelined(float* out, Tile a, Tile b, int n)
{
    Sums d = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        ARRIVE;
        MULTIPLY(d, a, b);
        MULTIPLY(d, a + 2, b + 2);
        MULTIPLY(d, a + 4, b + 4);
        MULTIPLY(d, a + 6, b + 6);
        COMMIT;
        WAIT(0);
    }
    store(out, d);
}

// A sum is used amidst its group, which the compiler therefore cuts in two.
extern "C" __global__ void touched(float* out, Tile a, Tile b, int n)
{
    Sums d = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        ARRIVE;
        MULTIPLY(d, a, b);
        MULTIPLY(d, a + 2, b + 2);
        d.v[0] *= 0.5f;
        MULTIPLY(d, a + 4, b + 4);
        MULTIPLY(d, a + 6, b + 6);
        COMMIT;
        WAIT(0);
    }
    store(out, d);
}

// Branches meet while a group is in flight, and one of them leaves sums that are plain zeros.
extern "C" __global__ void branched(float* out, Tile a, Tile b, int n)
{
    Sums d = {}, e = {};
    ARRIVE;
    START(d, a, b);
    if (n & 64)
        START(e, a + 2, b + 2);
    COMMIT;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        ARRIVE;
        MULTIPLY(d, a, b);
        if (n & 64)
            MULTIPLY(e, a + 2, b + 2);
        COMMIT;
        WAIT(1);
    }
    WAIT(0);
    store(out, d);
    store(out + 512, e);
}

__device__ __noinline__ void stage(Sums& d, Tile a, Tile b)
{
    ARRIVE;
    MULTIPLY(d, a, b);
    MULTIPLY(d, a + 2, b + 2);
    COMMIT;
}

// A group is committed in a function of its own and waited for by its caller.
extern "C" __global__ void called(float* out, Tile a, Tile b, int n)
{
    Sums d = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        stage(d, a, b);
        WAIT(1);
    }
    WAIT(0);
    store(out, d);
}

// One in a trip, waited for at the start of the next trip.
extern "C" __global__ void one_a_trip(float* out, Tile a, Tile b, int n)
{
    Sums d = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        WAIT(0);
        ARRIVE;
        MULTIPLY(d, a + k, b + k);
        COMMIT;
    }
    WAIT(0);
    store(out, d);
}
