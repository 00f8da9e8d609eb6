// Planted: pixels are rendered coarse grid first, so a warp's lanes lie 64 pixels apart and most wait for
// the few that never escape. Repair: a warp renders an 8 x 4 patch, whose pixels escape together.
/* rooftree
[shape]
side = 2048
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "escape"
role = "output"
shape = ["side", "side"]
[cost]
bytes = "4 * side * side"
flops = "1000 * side * side"
[[launch]]
kernel = "mandelbrot"
grid = ["side * side // 256"]
block = [256]
args = ["escape", "side"]
*/
#define LIMIT 512

extern "C" __global__ void mandelbrot(float* escape, int side)
{
    const int id = blockIdx.x * 256 + threadIdx.x;
#if REPAIRED
    const int lane = id % 32, patch = id / 32, across = side / 8;
    const int x = patch % across * 8 + lane % 8, y = patch / across * 4 + lane / 8;
#else
    const int coarse = side / 64, pass = id / (coarse * coarse);
    const int x = id % coarse * 64 + pass % 64, y = id / coarse % coarse * 64 + pass / 64;
#endif
    const float cx = x * (3.0f / side) - 2.25f, cy = y * (3.0f / side) - 1.5f;
    float zx = 0.0f, zy = 0.0f, square = 0.0f;
    int steps = 0;
    while (steps < LIMIT && square < 16.0f) {
        const float next = fmaf(zx, zx, fmaf(-zy, zy, cx));
        zy = fmaf(2.0f * zx, zy, cy);
        zx = next;
        square = fmaf(zx, zx, zy * zy);
        ++steps;
    }
    escape[y * side + x] = steps + square;
}
