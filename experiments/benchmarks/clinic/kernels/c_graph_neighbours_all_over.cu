// Planted: each node of a graph adds up the features of 8 neighbours that lie anywhere in 201 MB, so
// that a row has left L2 long before its next reader comes. Repair: nodes numbered by community,
// neighbours within the same 65536 rows (2 MB).
/* rooftree
[shape]
nodes = 6291456
width = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "features"
role = "input"
shape = ["nodes", "width"]
[[buffer]]
name = "sums"
role = "output"
shape = ["nodes", "width"]
[cost]
bytes = "8 * nodes * width"
flops = "8 * nodes * width"
[[launch]]
kernel = "aggregate"
grid = ["nodes // 128"]
block = [256]
args = ["features", "sums", "nodes"]
*/
// Two threads share a node, four features each: a row is one sector, read whole.
extern "C" __global__ void aggregate(const float4* __restrict__ features, float4* sums, int nodes)
{
    const unsigned node = blockIdx.x * 128 + threadIdx.x / 2, half = threadIdx.x % 2;
    const unsigned base = REPAIRED ? node / 65536 * 65536 : 0, span = REPAIRED ? 65536 : nodes;
    float4 row[8], sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
        unsigned hash = (node * 8 + k) * 2654435761u;
        hash = (hash ^ hash >> 15) * 2246822519u;
        row[k] = features[(base + __umulhi(hash, span)) * 2 + half];
    }
#pragma unroll
    for (int k = 0; k < 8; ++k)
        sum = make_float4(sum.x + row[k].x, sum.y + row[k].y, sum.z + row[k].z, sum.w + row[k].w);
    sums[node * 2 + half] = sum;
}
