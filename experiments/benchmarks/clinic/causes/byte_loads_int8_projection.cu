// Planted: a warp reads its row of int8 weights, and the activations, one byte per lane and load.
// Repair: 16 weights and 16 activations per lane and load, multiplied four at a time by dp4a.
/* rooftree
[shape]
rows = 16384
columns = 28672
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "weight"
role = "input"
dtype = "int8"
shape = ["rows", "columns"]
[[buffer]]
name = "activation"
role = "input"
dtype = "int8"
shape = ["columns"]
[[buffer]]
name = "scale"
role = "input"
shape = ["rows"]
[[buffer]]
name = "out"
role = "output"
shape = ["rows"]
[cost]
bytes = "rows * columns + columns + 8 * rows"
flops = "2 * rows * columns"
math = "int32"
[[launch]]
kernel = "project"
grid = ["rows // 8"]
block = [256]
args = ["weight", "activation", "scale", "out", "columns"]
*/
extern "C" __global__ void project(const signed char* __restrict__ weight,
    const signed char* __restrict__ activation, const float* __restrict__ scale, float* out, int columns)
{
    const int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    const signed char* mine = weight + row * columns;
    int sum = 0;
#if REPAIRED
#pragma unroll 4
    for (int c = lane; c < columns / 16; c += 32) {
        const int4 w = ((const int4*)mine)[c], x = ((const int4*)activation)[c];
        sum = __dp4a(w.x, x.x, sum);
        sum = __dp4a(w.y, x.y, sum);
        sum = __dp4a(w.z, x.z, sum);
        sum = __dp4a(w.w, x.w, sum);
    }
#else
#pragma unroll 4
    for (int c = lane; c < columns; c += 32)
        sum += mine[c] * activation[c];
#endif
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        out[row] = sum * scale[row];
}
