// Planted: pulses are weighted and written transposed, neighbouring lanes storing a row of 32 KB apart.
// Repair: a tile of 32 x 32 is turned in shared memory, so that reads and writes are both along rows.
/* rooftree
[shape]
pulses = 8192
gates = 8192
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "echo"
role = "input"
shape = ["pulses", "gates"]
[[buffer]]
name = "taper"
role = "input"
shape = ["pulses"]
[[buffer]]
name = "turned"
role = "output"
shape = ["gates", "pulses"]
[cost]
bytes = "8 * pulses * gates"
flops = "pulses * gates"
[[launch]]
kernel = "corner_turn"
grid = ["gates // 32 if REPAIRED else gates // 256", "pulses // 32 if REPAIRED else pulses"]
block = ["32 if REPAIRED else 256", "8 if REPAIRED else 1"]
args = ["echo", "taper", "turned", "pulses", "gates"]
*/
extern "C" __global__ void corner_turn(
    const float* __restrict__ echo, const float* __restrict__ taper, float* __restrict__ turned, int pulses, int gates)
{
#if REPAIRED
    __shared__ float tile[32][33];
    const int gate = blockIdx.x * 32, pulse = blockIdx.y * 32;
#pragma unroll
    for (int k = threadIdx.y; k < 32; k += 8)
        tile[k][threadIdx.x] = taper[pulse + k] * echo[(pulse + k) * gates + gate + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = threadIdx.y; k < 32; k += 8)
        turned[(gate + k) * pulses + pulse + threadIdx.x] = tile[threadIdx.x][k];
#else
    const int gate = blockIdx.x * 256 + threadIdx.x, pulse = blockIdx.y;
    turned[gate * pulses + pulse] = taper[pulse] * echo[pulse * gates + gate];
#endif
}
