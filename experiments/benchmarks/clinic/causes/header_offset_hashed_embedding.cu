// Planted: embeddings of 32 bf16 numbers (64 bytes) begin behind a header of 16 bytes and so lie across
// three sectors of L2, which holds the table, instead of two. Repair: a header of 64 bytes.
/* rooftree
[shape]
samples = 393216
rows = 262144
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "features"
role = "input"
dtype = "int32"
shape = ["samples", 32]
[[buffer]]
name = "table"
role = "input"
dtype = "bfloat16"
shape = ["32 + 32 * rows"]
[[buffer]]
name = "pooled"
role = "output"
shape = ["samples", 32]
[cost]
bytes = "256 * samples + 64 * rows"
flops = "1024 * samples"
[[launch]]
kernel = "pool_embeddings"
grid = ["samples // 8"]
block = [256]
args = ["features", "table", "pooled", "rows"]
*/
constexpr int WIDTH = 32, HEADER = REPAIRED ? 32 : 8;

// A warp pools a user's 32 crossed features: lane k hashes feature k, all lanes fetch its row.
extern "C" __global__ void pool_embeddings(const int* __restrict__ features,
    const unsigned short* __restrict__ table, float* __restrict__ pooled, int rows)
{
    const unsigned user = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned key = features[user * 32 + lane] + (user * 32 + lane) * 16;
    key = (key ^ key >> 16) * 0x7FEB352Du;
    key = (key ^ key >> 15) * 0x846CA68Bu;
    const unsigned offset = HEADER + (key >> 8) % (unsigned)rows * WIDTH;
    float sum = 0.0f;
#pragma unroll 16
    for (int k = 0; k < 32; ++k) {
        const unsigned bits = table[__shfl_sync(~0u, offset, k) + lane];
        sum += __uint_as_float(bits << 16);
    }
    pooled[user * WIDTH + lane] = sum;
}
