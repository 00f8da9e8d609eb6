// Planted: a power series by Horner's rule is one chain of dependent multiply-adds, with a warp per
// scheduler to hide none of it. Repair: four chains in the fourth power, added up at the end.
/* rooftree
[shape]
n = 16896
terms = 65536
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
fill = "uniform"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = "2 * n * terms"
[[launch]]
kernel = "series"
grid = ["n // 128"]
block = [128]
args = ["x", "y", "terms"]
*/
extern "C" __global__ void series(const float* x, float* y, int terms)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    const float v = x[i] * 0.99f;
#if REPAIRED
    const float v4 = v * v * v * v;
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
#pragma unroll 8
    for (int k = 0; k < terms; k += 4) {
        a = a * v4 + 0.5f;
        b = b * v4 + 0.4f;
        c = c * v4 + 0.3f;
        d = d * v4 + 0.2f;
    }
    y[i] = ((a * v + b) * v + c) * v + d;
#else
    float sum = 0.0f;
#pragma unroll 8
    for (int k = 0; k < terms; k += 4) {
        sum = sum * v + 0.5f;
        sum = sum * v + 0.4f;
        sum = sum * v + 0.3f;
        sum = sum * v + 0.2f;
    }
    y[i] = sum;
#endif
}
