// Planted: reaction fronts on rings of 1024 cells in shared memory, a cell per thread and two barriers per time step.
// Repair: eight cells per thread in registers, four steps per barrier by computing the borders twice.
/* rooftree
[shape]
rings = 2112
steps = 512
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "seed"
role = "input"
fill = "uniform"
shape = ["rings", 1024]
[[buffer]]
name = "concentration"
role = "output"
shape = ["rings", 1024]
[cost]
bytes = "8192 * rings"
flops = "7168 * rings * steps"
[[launch]]
kernel = "reaction_fronts"
grid = ["rings"]
block = ["128 if REPAIRED else 1024"]
args = ["seed", "concentration", "steps"]
*/
// One time step of Fisher's equation.
__device__ float react(float left, float here, float right)
{
    return here + 0.2f * (left + right - 2.0f * here) + 0.05f * here * (1.0f - here);
}

__device__ float begin(float seed) { return 0.5f * fminf(fabsf(seed), 1.0f); }

extern "C" __global__ void reaction_fronts(const float* __restrict__ seed, float* __restrict__ concentration,
    int steps)
{
    const int t = threadIdx.x, at = blockIdx.x * 1024 + t * (REPAIRED ? 8 : 1);
#if REPAIRED
    __shared__ float4 heads[2][128], tails[2][128];
    float cell[16];  // four of the left neighbour, eight of our own, four of the right one
#pragma unroll
    for (int k = 0; k < 8; ++k) cell[4 + k] = begin(seed[at + k]);
    for (int step = 0; step < steps; step += 4) {
        const int now = step / 4 % 2;
        heads[now][t] = make_float4(cell[4], cell[5], cell[6], cell[7]);
        tails[now][t] = make_float4(cell[8], cell[9], cell[10], cell[11]);
        __syncthreads();
        *(float4*)&cell[0] = tails[now][(t + 127) % 128];
        *(float4*)&cell[12] = heads[now][(t + 1) % 128];
#pragma unroll
        for (int n = 1; n <= 4; ++n) {
            float left = cell[n - 1];
#pragma unroll
            for (int k = n; k < 16 - n; ++k) {
                const float here = cell[k];
                cell[k] = react(left, here, cell[k + 1]);
                left = here;
            }
        }
    }
#pragma unroll
    for (int k = 0; k < 8; k += 4) *(float4*)&concentration[at + k] = *(float4*)&cell[4 + k];
#else
    __shared__ float cells[1024];
    float here = begin(seed[at]);
    for (int step = 0; step < steps; ++step) {
        cells[t] = here;
        __syncthreads();
        here = react(cells[(t + 1023) % 1024], here, cells[(t + 1) % 1024]);
        __syncthreads();
    }
    concentration[at] = here;
#endif
}
