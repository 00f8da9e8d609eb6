// Planted: 32 launches of a kernel that needs two microseconds, each moving the rods four time steps
// on. Repair: one launch for all 128 steps; a rod's state stays in registers.
/* rooftree
launch = [
  { kernel = "heat", grid = [1056], block = [256], args = ["start", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "even", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["even", "odd", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["odd", "end", 4], when = "REPAIRED == 0" },
  { kernel = "heat", grid = [1056], block = [256], args = ["start", "end", 128], when = "REPAIRED == 1" },
]
[shape]
rods = 8448
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "start"
role = "input"
shape = ["rods", 256]
[[buffer]]
name = "end"
role = "output"
shape = ["rods", 256]
[[workspace]]
name = "even"
size = "rods * 256"
[[workspace]]
name = "odd"
size = "rods * 256"
[cost]
bytes = "2 * 4 * rods * 256"
flops = "4 * 128 * rods * 256"
*/

// Explicit heat equation on rods of 256 points, one warp per rod, eight points per lane.
extern "C" __global__ void heat(const float4* __restrict__ from, float4* __restrict__ to, int steps)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    const float4 a = from[i], b = from[i + 1];
    float u[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll 2
    for (int step = 0; step < steps; ++step) {
        float left = __shfl_up_sync(~0u, u[7], 1);  // insulated ends: lane 0 and 31 get their own
        const float right = __shfl_down_sync(~0u, u[0], 1);
        if (threadIdx.x % 32 == 0)
            left = u[0];
        const float last = threadIdx.x % 32 == 31 ? u[7] : right;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float old = u[k], next = k < 7 ? u[k + 1] : last;
            u[k] = fmaf(0.25f, fmaf(-2.0f, old, left + next), old);
            left = old;
        }
    }
    to[i] = make_float4(u[0], u[1], u[2], u[3]);
    to[i + 1] = make_float4(u[4], u[5], u[6], u[7]);
}
