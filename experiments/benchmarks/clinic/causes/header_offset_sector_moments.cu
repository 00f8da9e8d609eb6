// Planted: daily returns of 96 assets lie in a file behind 12 bytes of header, and the 32 columns of one
// sector of the market straddle two lines in every row. Repair: the header is padded to 128 bytes.
/* rooftree
[shape]
days = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "file"
role = "input"
shape = ["32 + 96 * days"]
[[buffer]]
name = "moments"
role = "output"
shape = [16384, 3, 32]
[cost]
bytes = "128 * days"
flops = "192 * days"
[[launch]]
kernel = "sector_moments"
grid = [2048]
block = [256]
args = ["file", "moments", "days"]
*/
constexpr int ASSETS = 96, SECTOR = 32, HEADER = REPAIRED ? 32 : 3;

// Lane = asset. Sums of the first three powers of the returns, over every 16384th day.
extern "C" __global__ void __launch_bounds__(256)
    sector_moments(const float* __restrict__ file, float* __restrict__ moments, int days)
{
    const int lane = threadIdx.x % 32, warp = blockIdx.x * 8 + threadIdx.x / 32;
    const int stride = gridDim.x * 8;
    const float* column = file + HEADER + SECTOR + lane;
    float first = 0.0f, second = 0.0f, third = 0.0f;
    for (int day = warp; day < days; day += 8 * stride) {
        float r[8];
#pragma unroll
        for (int k = 0; k < 8; ++k)
            r[k] = day + k * stride < days ? column[(day + k * stride) * ASSETS] : 0.0f;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float square = r[k] * r[k];
            first += r[k];
            second += square;
            third += square * r[k];
        }
    }
    float* to = moments + warp * 96 + lane;
    to[0] = first;
    to[32] = second;
    to[64] = third;
}
