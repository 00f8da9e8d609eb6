// Source of loops.txt: NVRTC -arch=sm_90a -lineinfo, the source named /rooftree/loops.cu, then
// `nvdisasm -gi -c` of the cubin.
__device__ float smooth(float v)
{
    return v * v + __expf(v);
}

extern "C" __global__ void dot(const float* __restrict__ x, const float* __restrict__ y, float* z, int n)
{
    float a = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < n; i += 256)
        a += x[i] * y[i];
    z[threadIdx.x] = a;
}

extern "C" __global__ void tiled(const float* __restrict__ a, const float* __restrict__ b, float* c, int n)
{
    __shared__ float as[32][32], bs[32][32];
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int tile = 0; tile < n; tile += 32) {
        as[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32; ++k)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void inlined(const float* __restrict__ x, double* __restrict__ y, int n)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += 256)
        y[i] = smooth(x[i])
             * 0.1;
}

extern "C" __global__ void chosen(const int* __restrict__ x, float* __restrict__ y, int n)
{
    float a = y[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < n; ++i)
        switch (x[i]) {
        case 0: a += 1.0f; break;
        case 1: a *= y[i]; break;
        case 2: a -= 7.0f; break;
        case 3: a = __expf(a); break;
        case 4: a = __logf(a); break;
        case 5: a = fminf(a, y[i + 1]); break;
        case 6: y[i] = a; break;
        case 7: a = rsqrtf(a); break;
        default: a = 0.0f; break;
        }
    y[threadIdx.x] = a;
}

extern "C" __global__ void waiting(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ unsigned long long barrier;
    unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
    float a = 0.0f;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        asm volatile(
            "{\n.reg .pred done;\n"
            "again%=: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
            "@done bra over%=;\nbra again%=;\nover%=:\n}" ::"r"(address), "r"(i & 1) : "memory");
        a += x[i];
    }
    y[threadIdx.x] = a;
}
