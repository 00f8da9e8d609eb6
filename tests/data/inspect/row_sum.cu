/* rooftree
[shape]
rows = 8192
cols = 4096

[tunables]
BLOCK = { values = [64, 128, 256], default = 64 }

[[buffer]]
name = "x"
role = "input"
dtype = "float32"
shape = ["rows", "cols"]

[[buffer]]
name = "y"
role = "output"
dtype = "float32"
shape = ["rows"]

[cost]
bytes = "4 * rows * cols + 4 * rows"
flops = "rows * cols"
math = "fp32"

[[launch]]
kernel = "row_sum"
grid = ["ceil_div(rows, BLOCK)"]
block = ["BLOCK"]
args = ["x", "y", "rows", "cols"]
*/
// A thread adds up a whole row: neighbouring threads read addresses that lie a row apart.
extern "C" __global__ void row_sum(const float* __restrict__ x, float* y, int rows, int cols)
{
    int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c)
        sum += x[(size_t)row * cols + c];
    y[row] = sum;
}
