// Planted: an index of k-mers over 1024 genomes, a row of 1024 bits per hash, starts behind its file's
// header of 28 bytes, so that each row a warp fetches lies in five sectors and two lines. Repair: the
// header fills a row of its own.
/* rooftree
[shape]
reads = 131072
rows = 4194304
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "sequence"
role = "input"
dtype = "int32"
shape = ["reads", 4]
[[buffer]]
name = "index"
role = "input"
dtype = "int32"
shape = ["32 + 32 * rows"]
[[buffer]]
name = "genomes"
role = "output"
dtype = "int32"
shape = ["reads", 32]
[cost]
bytes = "(16 + 128 + 32 * 128) * reads"
flops = "1024 * reads"
math = "int32"
[[launch]]
kernel = "find_genomes"
grid = ["reads // 8"]
block = [256]
args = ["sequence", "index", "genomes", "rows - 1"]
*/
constexpr unsigned HEADER = REPAIRED ? 32 : 7;

// Which genomes contain all 32 16-mers of a read: a lane hashes the 16-mer at its base, the warp then
// intersects the 32 rows. Hashes are salted by the read.
extern "C" __global__ void find_genomes(const unsigned* __restrict__ sequence,
    const unsigned* __restrict__ index, unsigned* __restrict__ genomes, unsigned mask)
{
    const unsigned read = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const unsigned* bases = sequence + read * 4 + lane / 16;  // two bits each
    unsigned key = __funnelshift_r(bases[0], bases[1], 2 * (lane % 16));
    key += (read * 32 + lane) * 0x9E3779B1u;
    key = (key ^ key >> 16) * 0x7FEB352Du;
    key = (key ^ key >> 15) * 0x846CA68Bu;
    const unsigned offset = HEADER + ((key ^ key >> 16) & mask) * 32;
    unsigned all = ~0u;
#pragma unroll 16
    for (int k = 0; k < 32; ++k)
        all &= index[__shfl_sync(~0u, offset, k) + lane];
    genomes[read * 32 + lane] = all;
}
