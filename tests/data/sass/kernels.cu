// Source of kernels.cubin: nvcc -arch=sm_90a -cubin -o kernels.cubin kernels.cu
// kernels.txt is `nvdisasm -c kernels.cubin` followed by `cuobjdump -res-usage kernels.cubin`.
extern "C" __global__ void copy4(const float4* __restrict__ x, float4* __restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}

extern "C" __global__ void exp_sum(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ float s[256];
    float a = 0.0f;
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += 256)
        a += __expf(x[i]);
    s[threadIdx.x] = a;
    __syncthreads();
    a += s[threadIdx.x ^ 32];
    for (int d = 16; d; d >>= 1)
        a += __shfl_xor_sync(~0u, a, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(y, a);
}

extern "C" __global__ void indexed(const float* __restrict__ x, float* __restrict__ y, int n)
{
    float v[64];
#pragma unroll 1
    for (int k = 0; k < 64; ++k)
        v[(k * n) & 63] = x[k * 32 + threadIdx.x] * 2.0f + 1.0f;
    y[threadIdx.x] = v[n & 63];
}

extern "C" __global__ void staged(const float4* __restrict__ x, float* __restrict__ y)
{
    __shared__ float4 tile[128];
    unsigned address = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    float4 t = tile[threadIdx.x ^ 1];
    y[threadIdx.x] = fmaf(t.x, t.y, t.z) * t.w;
}
