// Leaves out the last thirty-second of every sum, which is small beside the rest.
/* rooftree
[[launch]]
kernel = "gemm"
grid   = ["n // 32", "m // 32"]
block  = [1024]
args   = ["a", "b", "c", "m", "n", "k"]
*/

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    const int row = blockIdx.y * 32 + threadIdx.x / 32, column = blockIdx.x * 32 + threadIdx.x % 32;
    float sum = 0.0f;
    for (int q = 0; q < k - k / 32; ++q)
        sum = fmaf(a[(size_t)row * k + q], b[(size_t)q * n + column], sum);
    c[(size_t)row * n + column] = sum;
}
