// Planted: one block per sequence, but one sequence in 64 is 64 times longer than the rest: at the
// end a few long ones run alone. Repair: sequences are cut into pieces of equal length.
/* rooftree
[shape]
sequences = 8192
longest = 262144
usual = 4096
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["sequences // 64 * (longest + 63 * usual)"]
[[buffer]]
name = "partial"
role = "output"
shape = ["8 * (sequences // 64 * (longest // usual + 63))"]
[cost]
bytes = "4 * (sequences // 64 * (longest + 63 * usual))"
flops = "2 * (sequences // 64 * (longest + 63 * usual))"
[[launch]]
kernel = "sequence_energy"
grid = ["sequences // 64 * (longest // usual + 63) if REPAIRED else sequences"]
block = [256]
args = ["x", "partial", "longest", "usual"]
*/
extern "C" __global__ void sequence_energy(const float* __restrict__ x, float* partial,
    int longest, int usual)
{
#if REPAIRED
    const int first = blockIdx.x * usual, length = usual;
#else
    const int block = blockIdx.x, long_before = (block + 63) / 64;
    const int first = long_before * longest + (block - long_before) * usual;
    const int length = block % 64 == 0 ? longest : usual;
#endif
    float sum = 0.0f;
#pragma unroll 4
    for (int i = threadIdx.x; i < length; i += 256)
        sum += x[first + i] * x[first + i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        partial[blockIdx.x * 8 + threadIdx.x / 32] = sum;
}
