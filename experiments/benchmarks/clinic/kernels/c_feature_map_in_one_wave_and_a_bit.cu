// Planted: 140 long blocks of which a multiprocessor holds one at a time: on 132 multiprocessors the
// last 8 run almost alone for as long as all others together. Repair: the same in 4480 short blocks.
/* rooftree
[shape]
n = 1146880
degree = 64
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
flops = "80 * degree * n"
[[launch]]
kernel = "polynomial_features"
grid = ["4480 if REPAIRED else 140"]
block = ["256 if REPAIRED else 1024"]
args = ["x", "y", "n", "degree"]
*/
// Each thread evaluates 40 polynomials (Horner) at its pixel and adds them up.
extern "C" __global__ void polynomial_features(const float* x, float* y, int n, int degree)
{
    const int share = n / gridDim.x, first = blockIdx.x * share;
    for (int i = first + threadIdx.x; i < first + share; i += blockDim.x) {
        const float v = x[i];
        float feature[40], sum = 0.0f;
#pragma unroll
        for (int c = 0; c < 40; ++c)
            feature[c] = 0.01f * c;
#pragma unroll 4
        for (int k = 0; k < degree; ++k)
#pragma unroll
            for (int c = 0; c < 40; ++c)
                feature[c] = feature[c] * v + (0.5f - 0.01f * c);
#pragma unroll
        for (int c = 0; c < 40; ++c)
            sum += feature[c];
        y[i] = sum;
    }
}
