// int main() in a comment is no program, nor is "int main()" in a string.
__device__ const char* note() { return "int main() {}"; }

__global__ void scale(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FACTOR * x[i];
}

extern "C" __global__ void widen(const float* x, double* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0 + note()[0];
}
