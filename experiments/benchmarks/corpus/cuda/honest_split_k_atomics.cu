// Four slices of k, each its own block, added up by atomics in whatever order they come.
/* rooftree
[[launch]]
memset = "c"

[[launch]]
kernel = "gemm"
grid   = ["n // 32", "m // 32", 4]
block  = [1024]
args   = ["a", "b", "c", "m", "n", "k"]
*/

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    __shared__ float as[32][33], bs[32][33];
    const int i = threadIdx.x / 32, j = threadIdx.x % 32;
    const int row = blockIdx.y * 32 + i, column = blockIdx.x * 32 + j;
    const int depth = k / 4, first = blockIdx.z * depth;
    float sum = 0.0f;
    for (int q = 0; q < depth; q += 16) {
        __syncthreads();
        if (j < 16)
            as[i][j] = a[(size_t)row * k + first + q + j];
        if (i < 16)
            bs[i][j] = b[(size_t)(first + q + i) * n + column];
        __syncthreads();
        for (int p = 0; p < 16; ++p)
            sum = fmaf(as[i][p], bs[p][j], sum);
    }
    atomicAdd(c + (size_t)row * n + column, sum);
}
