// Planted: every lane gathers from another sector (bit-reversed index). Repair: reverse 32x32 tiles
// in shared memory, so that both reads and writes are rows of 128 bytes.
/* rooftree
[shape]
n = 33554432
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "y"
role = "output"
shape = ["n"]
[cost]
bytes = "8 * n"
flops = 0
[[launch]]
kernel = "bit_reverse"
grid = ["n // 1024"]
block = [256]
args = ["x", "y"]
*/
constexpr int LOG_N = 25;

__device__ unsigned reversed(unsigned i, int bits)
{
    return __brev(i) >> (32 - bits);
}

extern "C" __global__ void bit_reverse(const float* __restrict__ x, float* __restrict__ y)
{
    const unsigned t = threadIdx.x;
#if REPAIRED
    // Index bits: 5 high (row of the tile), 15 of the block, 5 low (column of the tile).
    __shared__ float tile[32][33];
    const unsigned row = t / 8, quad = t % 8;
    const float4 v = *(const float4*)&x[(row << (LOG_N - 5)) | (blockIdx.x << 5) | (quad * 4)];
    tile[row][quad * 4] = v.x;
    tile[row][quad * 4 + 1] = v.y;
    tile[row][quad * 4 + 2] = v.z;
    tile[row][quad * 4 + 3] = v.w;
    __syncthreads();
    const unsigned to = (row << (LOG_N - 5)) | (reversed(blockIdx.x, LOG_N - 10) << 5) | (quad * 4);
    const unsigned column = reversed(row, 5);
    *(float4*)&y[to] = make_float4(
        tile[reversed(quad * 4, 5)][column], tile[reversed(quad * 4 + 1, 5)][column],
        tile[reversed(quad * 4 + 2, 5)][column], tile[reversed(quad * 4 + 3, 5)][column]);
#else
    const unsigned i = (blockIdx.x * blockDim.x + t) * 4;
    ((float4*)y)[i / 4] = make_float4(
        x[reversed(i, LOG_N)], x[reversed(i + 1, LOG_N)],
        x[reversed(i + 2, LOG_N)], x[reversed(i + 3, LOG_N)]);
#endif
}
