// Planted: for an order-free sum, each of 128 force contributions is converted to 64-bit fixed
// point. Repair: a thread sums its contributions in float and converts once.
/* rooftree
[shape]
n = 16777216
sources = 128
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "x"
role = "input"
shape = ["n"]
[[buffer]]
name = "source"
role = "input"
shape = ["sources", 2]
[[buffer]]
name = "force"
role = "output"
dtype = "int64"
shape = ["n"]
[cost]
bytes = "12 * n"
flops = "3 * sources * n"
[[launch]]
kernel = "spring_forces"
grid = ["n // 512"]
block = [256]
args = ["x", "source", "force"]
*/
constexpr int SOURCES = 128;
constexpr float SCALE = 1048576.0f;  // fixed point with 20 bits behind the point

struct Force {
#if REPAIRED
    float sum = 0.0f;
    __device__ void add(float f) { sum += f; }
    __device__ long long fixed() const { return __float2ll_rn(sum * SCALE); }
#else
    long long sum = 0;
    __device__ void add(float f) { sum += __float2ll_rn(f * SCALE); }
    __device__ long long fixed() const { return sum; }
#endif
};

extern "C" __global__ void spring_forces(
    const float2* __restrict__ x, const float4* __restrict__ source, longlong2* __restrict__ force)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float2 at = x[i];
    Force a, b;
#pragma unroll 8
    for (int k = 0; k < SOURCES / 2; ++k) {
        const float4 s = source[k];  // place and stiffness of two springs
        a.add((s.x - at.x) * s.y);
        a.add((s.z - at.x) * s.w);
        b.add((s.x - at.y) * s.y);
        b.add((s.z - at.y) * s.w);
    }
    force[i] = make_longlong2(a.fixed(), b.fixed());
}
