// Planted: a table stored by row, one thread per cell, and four column types in neighbouring lanes:
// each warp runs four hash loops. Repair: a warp takes one column of 32 rows.
/* rooftree
[shape]
cells = 16777216
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "cell"
role = "input"
dtype = "int32"
shape = ["cells"]
[[buffer]]
name = "fingerprint"
role = "output"
dtype = "int32"
shape = ["cells"]
[cost]
bytes = "8 * cells"
flops = "120 * cells"
math = "int32"
[[launch]]
kernel = "fingerprints"
grid = ["cells // 256"]
block = [256]
args = ["cell", "fingerprint"]
*/
__device__ unsigned letters(unsigned hash, unsigned number, int digits)  // FNV-1a of its decimals
{
    for (int k = 0; k < digits; ++k, number /= 10)
        hash = (hash ^ ('0' + number % 10)) * 16777619u;
    return hash;
}

extern "C" __global__ void fingerprints(const unsigned* __restrict__ cell, unsigned* fingerprint)
{
    int i = blockIdx.x * 256 + threadIdx.x;
#if REPAIRED
    i = i / 128 * 128 + i % 32 * 4 + i / 32 % 4;
#endif
    const unsigned value = cell[i];
    unsigned hash = 2166136261u;
    switch (i % 4) {
    case 0:  // a price in cents
        hash = letters(hash, value, 10);
        break;
    case 1: {  // a date: days since 1 March of the year 0, as year, month and day
        const unsigned day = value % 3652425, century = (4 * day + 3) / 146097;
        const unsigned left = day - 146097 * century / 4, year = (4 * left + 3) / 1461;
        const unsigned rest = left - 1461 * year / 4, month = (5 * rest + 2) / 153;
        hash = letters(hash, 100 * century + year, 5);
        hash = letters(letters(hash, month, 2), rest - (153 * month + 2) / 5 + 1, 2);
        break;
    }
    case 2:  // a dictionary code: mixed as Murmur does
        for (unsigned k = 0; k < 16; ++k) {
            hash = (hash ^ (value + k) * 0xcc9e2d51u) * 0x85ebca6bu;
            hash = (hash ^ hash >> 13) * 0xc2b2ae35u + k;
        }
        break;
    default:  // 32 flags: a cyclic redundancy check, two bits at a time
        hash = value;
        for (int k = 0; k < 16; ++k) {
            const unsigned once = hash >> 1 ^ (0xedb88320u & -(hash & 1));
            hash = once >> 1 ^ (0xedb88320u & -(once & 1));
        }
    }
    fingerprint[i] = hash;
}
