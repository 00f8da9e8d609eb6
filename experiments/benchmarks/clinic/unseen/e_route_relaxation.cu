// Planted: every sweep of the relaxation goes through all graphs, 268 MB of weights, before the next
// sweep begins. Repair: all sweeps of a graph while its weights are there.
/* rooftree
[shape]
graphs = 16384
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "weights"
role = "input"
shape = ["graphs", 64, 64]
fill = "uniform"
[[buffer]]
name = "lengths"
role = "output"
shape = ["graphs", 64]
[cost]
bytes = "graphs * (4 * 64 * 64 + 4 * 64)"
flops = "8 * 2 * 64 * 64 * graphs"
[[launch]]
kernel = "relax_all"
grid = [792]
block = [256]
args = ["weights", "lengths", "graphs"]
*/
#define NODES 64
#define SWEEPS 8
#define FAR 1e30f

// A thread has four edges into each of four nodes: rows 4 * part to 4 * part + 3, columns 4 * quad
// to 4 * quad + 3 of the matrix of weights.
__device__ __forceinline__ void load_edges(float4 edges[4], const float4* __restrict__ weights,
    int graph, int part, int quad)
{
#pragma unroll
    for (int r = 0; r < 4; ++r)
        edges[r] = weights[(graph * NODES + part * 4 + r) * (NODES / 4) + quad];
}

__device__ __forceinline__ float4 shortest(const float4 edges[4], const float4 from)
{
    const float start[4] = { from.x, from.y, from.z, from.w };
    float4 best = make_float4(FAR, FAR, FAR, FAR);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        best.x = fminf(best.x, start[r] + fabsf(edges[r].x));
        best.y = fminf(best.y, start[r] + fabsf(edges[r].y));
        best.z = fminf(best.z, start[r] + fabsf(edges[r].z));
        best.w = fminf(best.w, start[r] + fabsf(edges[r].w));
    }
    return best;
}

// Bellman-Ford on many dense road graphs of 64 nodes: the shortest ways of at most eight edges from
// node 0 of each.
extern "C" __global__ void __launch_bounds__(256, 6) relax_all(const float4* __restrict__ weights,
    float* __restrict__ lengths, int count)
{
    __shared__ __align__(16) float ways[NODES], found[16][NODES];
    const int t = threadIdx.x, part = t / 16, quad = t % 16;
    float4 edges[4];

#if REPAIRED
    for (int graph = blockIdx.x; graph < count; graph += gridDim.x) {
        load_edges(edges, weights, graph, part, quad);
        if (t < NODES)
            ways[t] = t == 0 ? 0.0f : FAR;
        for (int sweep = 0; sweep < SWEEPS; ++sweep) {
#else
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        for (int graph = blockIdx.x; graph < count; graph += gridDim.x) {
            load_edges(edges, weights, graph, part, quad);
            if (t < NODES)
                ways[t] = sweep > 0 ? lengths[graph * NODES + t] : t == 0 ? 0.0f : FAR;
#endif
            __syncthreads();
            *(float4*)&found[part][quad * 4] = shortest(edges, *(const float4*)&ways[part * 4]);
            __syncthreads();
            if (t < NODES) {
                float way = ways[t];
#pragma unroll
                for (int p = 0; p < 16; ++p)
                    way = fminf(way, found[p][t]);
                ways[t] = way;
#if !REPAIRED
                lengths[graph * NODES + t] = way;
#endif
            }
        }
#if REPAIRED
        if (t < NODES)
            lengths[graph * NODES + t] = ways[t];
#endif
    }
}
