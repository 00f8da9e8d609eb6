// Planted: a path's next shock is loaded only after the barrier was checked, one load in flight per
// thread. Repair: eight shocks are loaded before any of them is used.
/* rooftree
[shape]
paths = 135168
steps = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "shocks"
role = "input"
shape = ["steps", "paths"]
[[buffer]]
name = "passage"
role = "output"
shape = ["paths"]
[cost]
bytes = "4 * paths * (steps + 1)"
flops = "2 * paths * steps"
[[launch]]
kernel = "first_passage"
grid = ["paths // 4 // 128"]
block = [128]
args = ["shocks", "passage", "paths // 4", "steps", { value = 1000, type = "float32" }]
*/
constexpr int AHEAD = REPAIRED ? 8 : 1;

struct Walk {
    float level = 0.0f, passage = 0.0f;
    __device__ void move(float shock, float barrier, int step)
    {
        level += 0.5f * shock;
        if (level > barrier && passage == 0.0f)
            passage = step + 1;
    }
};

extern "C" __global__ void __launch_bounds__(128, 2) first_passage(
    const float4* __restrict__ shocks, float4* __restrict__ passage, int quads, int steps,
    float barrier)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Walk a, b, c, d;
    for (int step = 0; step < steps; step += AHEAD) {
        float4 v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            v[k] = shocks[(step + k) * quads + i];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            a.move(v[k].x, barrier, step + k);
            b.move(v[k].y, barrier, step + k);
            c.move(v[k].z, barrier, step + k);
            d.move(v[k].w, barrier, step + k);
        }
        if (a.passage * b.passage * c.passage * d.passage > 0.0f)
            break;
    }
    passage[i] = make_float4(a.passage, b.passage, c.passage, d.passage);
}
