// Planted: the rows of an embedding table (16 floats, 64 bytes) begin behind a header of 5 floats,
// so that every row straddles three sectors instead of filling two. Repair: a header padded to 64
// bytes.
/* rooftree
[shape]
bags = 524288
table = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "file"
role = "input"
shape = ["16 * table + 16"]
[[buffer]]
name = "sums"
role = "output"
shape = ["bags", "16"]
[cost]
bytes = "64 * table + 64 * bags"
flops = "16 * table"
[[launch]]
kernel = "embedding_bag"
grid = ["bags // 16"]
block = [256]
args = ["file", "sums", "table"]
*/
constexpr int HEADER = REPAIRED ? 16 : 5;

// Half a warp adds up the 8 rows of a bag; every row belongs to one bag, in hashed order.
extern "C" __global__ void embedding_bag(const float* __restrict__ file, float* sums, int table)
{
    const unsigned bag = blockIdx.x * 16 + threadIdx.x / 16, column = threadIdx.x % 16;
    float value[8], sum = 0.0f;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
        const unsigned row = (bag * 8 + k) * 2654435761u & (table - 1);
        value[k] = file[HEADER + row * 16 + column];
    }
#pragma unroll
    for (int k = 0; k < 8; ++k)
        sum += value[k];
    sums[bag * 16 + column] = sum;
}
