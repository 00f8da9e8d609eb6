// Planted: 32 time steps of a recurrent cell, each a kernel of a few microseconds. Repair: one kernel
// walks through the steps with the state in a register.
/* rooftree
launch = [
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 0, 1, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 1, 2, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 2, 3, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 3, 4, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 4, 5, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 5, 6, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 6, 7, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 7, 8, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 8, 9, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 9, 10, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 10, 11, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 11, 12, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 12, 13, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 13, 14, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 14, 15, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 15, 16, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 16, 17, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 17, 18, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 18, 19, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 19, 20, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 20, 21, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 21, 22, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 22, 23, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 23, 24, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 24, 25, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 25, 26, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 26, 27, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 27, 28, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 28, 29, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 29, 30, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 30, 31, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 31, 32, "n"], when = "REPAIRED == 0" },
  { kernel = "cell", grid = [64], block = [256], args = ["x", "h", 0, 32, "n"], when = "REPAIRED == 1" },
]
[shape]
n = 16384
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = [32, "n"]
[[buffer]]
name = "h"
role = "output"
shape = ["n"]
[cost]
bytes = "4 * 33 * n"
flops = "32 * 8 * n"
*/
extern "C" __global__ void cell(const float* x, float* h, int first, int end, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    float state = first == 0 ? 0.0f : h[i];
#if REPAIRED
#pragma unroll 8
#endif
    for (int t = first; t < end; ++t) {
        const float v = 0.9f * state + x[t * n + i];
        state = v / (1.0f + fabsf(v));
    }
    h[i] = state;
}
