// Planted: one-sided Jacobi makes 12 columns orthogonal pair by pair, and sums both norms and the product of each pair in
// a shared-memory tree of 512 threads. Repair: 128 threads take four rows each; shuffles, one barrier a pair.
/* rooftree
[shape]
matrices = 2112
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "a"
role = "input"
shape = ["matrices", 12, 512]
[[buffer]]
name = "scaled"
role = "output"
shape = ["matrices", 12, 512]
[cost]
bytes = "2 * 4 * 12 * 512 * matrices"
flops = "3 * 66 * 12 * 512 * matrices"
[[launch]]
kernel = "orthogonalise"
grid = ["matrices"]
block = ["128 if REPAIRED else 512"]
args = ["a", "scaled"]
*/
constexpr int ROWS = 512, COLUMNS = 12, THREADS = REPAIRED ? 128 : ROWS;

__device__ float3 add(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }

__device__ float3 block_sum(float3 v, int turn)
{
    const int t = threadIdx.x;
#if REPAIRED
    __shared__ float3 parts[2][THREADS / 32];
    for (int d = 16; d > 0; d /= 2)
        v = add(v, make_float3(__shfl_xor_sync(~0u, v.x, d), __shfl_xor_sync(~0u, v.y, d),
            __shfl_xor_sync(~0u, v.z, d)));
    if (t % 32 == 0)
        parts[turn & 1][t / 32] = v;
    __syncthreads();
    const float3* p = parts[turn & 1];
    return add(add(p[0], p[1]), add(p[2], p[3]));
#else
    __shared__ float3 tree[ROWS];
    __syncthreads();
    tree[t] = v;
    __syncthreads();
    for (int half = ROWS / 2; half > 0; half /= 2) {
        if (t < half)
            tree[t] = add(tree[t], tree[t + half]);
        __syncthreads();
    }
    return tree[0];
#endif
}

extern "C" __global__ void orthogonalise(const float* __restrict__ a, float* __restrict__ scaled)
{
    __shared__ float columns[COLUMNS][ROWS];  // each thread touches its own rows only
    const int t = threadIdx.x, base = blockIdx.x * COLUMNS * ROWS;
    for (int i = t; i < COLUMNS * ROWS; i += THREADS)
        columns[i / ROWS][i % ROWS] = a[base + i];
    for (int sweep = 0, turn = 0; sweep < 3; ++sweep)
        for (int i = 0; i < COLUMNS - 1; ++i)
            for (int j = i + 1; j < COLUMNS; ++j, ++turn) {
                float3 sum = make_float3(0.0f, 0.0f, 0.0f);
                for (int r = t; r < ROWS; r += THREADS) {
                    const float p = columns[i][r], q = columns[j][r];
                    sum = add(sum, make_float3(p * p, q * q, p * q));
                }
                sum = block_sum(sum, turn);
                const float gap = sum.y - sum.x, h = rsqrtf(gap * gap + 4.0f * sum.z * sum.z + 1e-30f);
                const float square = 0.5f + 0.5f * fabsf(gap) * h, secant = rsqrtf(square);
                const float c = square * secant, s = (gap < 0.0f ? -sum.z : sum.z) * h * secant;
                for (int r = t; r < ROWS; r += THREADS) {
                    const float p = columns[i][r], q = columns[j][r];
                    columns[i][r] = c * p - s * q;
                    columns[j][r] = s * p + c * q;
                }
            }
    for (int i = t; i < COLUMNS * ROWS; i += THREADS)
        scaled[base + i] = columns[i / ROWS][i % ROWS];
}
