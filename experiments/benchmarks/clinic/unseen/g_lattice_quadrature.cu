// Planted: consecutive threads take consecutive points of a scrambled lattice, so that every lane of
// every load touches a sector of its own, anywhere in a table of 25 MB: the L2 cache hands out eight
// times what is used. Repair: consecutive threads take the points whose entries are neighbours; only
// the results, one per 72 loads, go to scattered places.
/* rooftree
[shape]
entries = 2097152
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "plasma"
role = "input"
shape = [3, "entries"]
[[buffer]]
name = "estimate"
role = "output"
shape = ["entries"]
[cost]
bytes = "16 * entries"
flops = "24 * 5 * entries"
[[launch]]
kernel = "shifted_lattice"
grid = ["entries // 256"]
block = [256]
args = ["plasma", "estimate", { value = "entries", type = "uint32" }]
*/
#define SHIFTS 24
#define GENERATOR 0x9E3779B1u
#define INVERSE 0xE8B2F51u // GENERATOR * INVERSE is 1 modulo 2^32

// A quasi-Monte Carlo rule with its error estimate: point q of a rank-1 lattice, moved by each of a
// number of shifts, reads the tabulated density, pressure and speed. entries is a power of two.
extern "C" __global__ void __launch_bounds__(256) shifted_lattice(
    const float* __restrict__ plasma, float* __restrict__ estimate, unsigned entries)
{
    const unsigned i = blockIdx.x * 256u + threadIdx.x, mask = entries - 1;
#if REPAIRED
    const unsigned place = i, point = (i * INVERSE) & mask;
#else
    const unsigned point = i, place = (i * GENERATOR) & mask;
#endif
    const float* density = plasma;
    const float* pressure = plasma + entries;
    const float* speed = plasma + 2 * entries;
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned k = 0; k < SHIFTS; ++k) {
        const unsigned shift = (k * 2654435761u >> 7) & ~31u;
        const unsigned at = (place + shift) & mask;
        const float v = speed[at];
        sum = fmaf(density[at], fmaf(0.5f * v, v, pressure[at]), sum);
    }
    estimate[point] = sum * (1.0f / SHIFTS);
}
