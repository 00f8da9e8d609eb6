// Planted: Felsenstein's pruning keeps the partial likelihoods of all 63 inner nodes of a tree in shared memory, 64 KB for
// 64 site patterns. Repair: nodes in post-order, on a stack of at most six partials.
/* rooftree
[shape]
sites = 1048576
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "tips"
role = "input"
dtype = "int32"
shape = [64, "sites"]
[[buffer]]
name = "branches"
role = "input"
fill = "uniform"
shape = [128]
[[buffer]]
name = "log_likelihood"
role = "output"
shape = ["sites"]
[cost]
bytes = "260 * sites"
flops = "63 * 32 * sites"
[[launch]]
kernel = "prune"
grid = ["sites // 64"]
block = [64]
shared = "6144 if REPAIRED else 65536"
args = ["tips", "branches", "log_likelihood", "sites"]
*/
extern __shared__ float4 partial[];

// Up a branch under Jukes-Cantor: each other base is reached with probability p.
__device__ float4 up(float4 v, float branch)
{
    const float p = 0.12f + 0.1f * branch, s = p * (v.x + v.y + v.z + v.w), stay = 1.0f - 4.0f * p;
    return make_float4(s + stay * v.x, s + stay * v.y, s + stay * v.z, s + stay * v.w);
}

__device__ float4 join(float4 a, float4 b, const float* branches, int node)
{
    const float4 l = up(a, branches[2 * node]), r = up(b, branches[2 * node + 1]);
    return make_float4(8.0f * l.x * r.x, 8.0f * l.y * r.y, 8.0f * l.z * r.z, 8.0f * l.w * r.w);
}

__device__ float4 tip(int base) { return make_float4(base == 0, base == 1, base == 2, base == 3); }

extern "C" __global__ void prune(const int* __restrict__ tips, const float* __restrict__ branches, float* out, int sites)
{
    const int t = threadIdx.x, site = blockIdx.x * 64 + t;
    float4 v;
    [[maybe_unused]] int depth = 0;
#pragma unroll 1
    for (int pair = 0; pair < 32; ++pair) {
        int node = 32 + pair;
        v = join(tip(tips[2 * pair * sites + site] & 3), tip(tips[(2 * pair + 1) * sites + site] & 3), branches, node);
#if REPAIRED
        for (int m = pair; m & 1; m /= 2)
            v = join(partial[--depth * 64 + t], v, branches, node /= 2);
        partial[depth++ * 64 + t] = v;
#else
        partial[node * 64 + t] = v;
#endif
    }
    for (int node = 31; node > 0 && !REPAIRED; --node)
        partial[node * 64 + t] = v = join(partial[2 * node * 64 + t], partial[(2 * node + 1) * 64 + t], branches, node);
    out[site] = logf(0.25f * (v.x + v.y + v.z + v.w)) - 63.0f * logf(8.0f);
}
