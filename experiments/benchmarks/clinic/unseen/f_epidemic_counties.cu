// Planted: three kernels of a microsecond or two for each of 2000 time steps. Repair: one kernel that
// takes all the steps, its county's state in registers.
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifndef REPAIRED
#define REPAIRED 0
#endif

static void check(cudaError_t error, const char* what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

struct County {
    float susceptible, infected, recovered;
};

// Rounded as written, so that it does not matter what is stored in between.
__device__ __forceinline__ float new_cases(const County& c, float contact, float dt)
{
    return __fmul_rn(__fmul_rn(contact, dt), __fmul_rn(c.susceptible, c.infected));
}

__device__ __forceinline__ float new_recoveries(const County& c, float healing, float dt)
{
    return __fmul_rn(__fmul_rn(healing, dt), c.infected);
}

__device__ __forceinline__ void advance(County& c, float cases, float recoveries)
{
    c.susceptible = __fsub_rn(c.susceptible, cases);
    c.infected = __fadd_rn(c.infected, __fsub_rn(cases, recoveries));
    c.recovered = __fadd_rn(c.recovered, recoveries);
}

__global__ void outbreak(County* state, float* contact, int counties)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= counties)
        return;
    const float seed = 0.0001f * (1 + i % 97);
    state[i] = { 1.0f - seed, seed, 0.0f };
    contact[i] = 0.15f + 0.002f * (i % 131);
}

#if REPAIRED
__global__ void all_steps(County* state, const float* contact, int counties, int steps, float healing, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= counties)
        return;
    County c = state[i];
    const float beta = contact[i];
    for (int step = 0; step < steps; ++step)
        advance(c, new_cases(c, beta, dt), new_recoveries(c, healing, dt));
    state[i] = c;
}
#else
__global__ void infect(const County* state, const float* contact, float* cases, int counties, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < counties)
        cases[i] = new_cases(state[i], contact[i], dt);
}

__global__ void recover(const County* state, float* recoveries, int counties, float healing, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < counties)
        recoveries[i] = new_recoveries(state[i], healing, dt);
}

__global__ void update(County* state, const float* cases, const float* recoveries, int counties)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < counties)
        advance(state[i], cases[i], recoveries[i]);
}
#endif

int main()
{
    const int counties = 32768, steps = 2000, block = 128, grid = (counties + block - 1) / block;
    const float healing = 0.1f, dt = 0.05f;
    County* state;
    float *contact, *cases, *recoveries;
    check(cudaMalloc(&state, counties * sizeof(County)), "state");
    check(cudaMalloc(&contact, counties * sizeof(float)), "contact");
    check(cudaMalloc(&cases, counties * sizeof(float)), "cases");
    check(cudaMalloc(&recoveries, counties * sizeof(float)), "recoveries");
    outbreak<<<grid, block>>>(state, contact, counties);
#if REPAIRED
    all_steps<<<grid, block>>>(state, contact, counties, steps, healing, dt);
#else
    for (int step = 0; step < steps; ++step) {
        infect<<<grid, block>>>(state, contact, cases, counties, dt);
        recover<<<grid, block>>>(state, recoveries, counties, healing, dt);
        update<<<grid, block>>>(state, cases, recoveries, counties);
    }
#endif
    check(cudaGetLastError(), "launch");
    std::vector<County> last(counties);
    check(cudaMemcpy(last.data(), state, counties * sizeof(County), cudaMemcpyDeviceToHost), "result");
    double ill = 0.0, healed = 0.0;
    for (const County& c : last) {
        ill += c.infected;
        healed += c.recovered;
    }
    std::printf("infected %.6f, recovered %.6f of %d\n", ill, healed, counties);
    cudaFree(recoveries), cudaFree(cases), cudaFree(contact), cudaFree(state);
    return 0;
}
