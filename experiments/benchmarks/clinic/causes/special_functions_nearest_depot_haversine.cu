// Planted: two sines and a square root for every parcel and depot. Repair: both become unit vectors
// beforehand; the nearest depot is that of the largest dot product.
/* rooftree
[shape]
parcels = 4194304
depots = 256
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "parcel"
role = "input"
fill = "uniform"
shape = ["parcels", 2]
[[buffer]]
name = "depot"
role = "input"
fill = "uniform"
shape = ["depots", 2]
[[buffer]]
name = "kilometres"
role = "output"
shape = ["parcels"]
[cost]
bytes = "12 * parcels"
flops = "7 * depots * parcels"
[[launch]]
kernel = "nearest_depot"
grid = ["parcels // 1024"]
block = [256]
args = ["parcel", "depot", "kilometres"]
*/
#define DEPOTS 256

struct Place { float a, b, c; };

__device__ Place place(float2 v)  // longitude in 180 degrees, latitude in 90 degrees
{
    const float longitude = 3.1415927f * v.x, latitude = 1.5707963f * v.y, flat = __cosf(latitude);
#if REPAIRED
    return {flat * __cosf(longitude), flat * __sinf(longitude), __sinf(latitude)};
#else
    return {0.5f * longitude, 0.5f * latitude, flat};
#endif
}

__device__ float root(float x)
{
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#if REPAIRED  // the cosine of the angle between the places, negated
__device__ float apart(Place p, float4 d) { return -(p.a * d.x + p.b * d.y + p.c * d.z); }
__device__ float kilometres(float apart) { return 12742.0f * asinf(root(fmaxf(0.5f + 0.5f * apart, 0.0f))); }
#else  // the sine of half that angle
__device__ float apart(Place p, float4 d)
{
    const float east = __sinf(p.a - d.x), north = __sinf(p.b - d.y);
    return root(north * north + p.c * d.z * east * east);
}
__device__ float kilometres(float apart) { return 12742.0f * asinf(fminf(apart, 1.0f)); }
#endif

extern "C" __global__ void nearest_depot(
    const float4* __restrict__ parcel, const float2* __restrict__ depot, float4* __restrict__ distance)
{
    __shared__ float4 depots[DEPOTS];
    const Place d = place(depot[threadIdx.x]);
    depots[threadIdx.x] = make_float4(d.a, d.b, d.c, 0.0f);
    __syncthreads();
    const int i = (blockIdx.x * 256 + threadIdx.x) * 2;
    const float4 v = parcel[i], w = parcel[i + 1];
    const Place home[4] = {place(make_float2(v.x, v.y)), place(make_float2(v.z, v.w)),
        place(make_float2(w.x, w.y)), place(make_float2(w.z, w.w))};
    float least[4] = {2.0f, 2.0f, 2.0f, 2.0f};
#pragma unroll 8
    for (int k = 0; k < DEPOTS; ++k)
        for (int p = 0; p < 4; ++p)
            least[p] = fminf(least[p], apart(home[p], depots[k]));
    distance[i / 2] = make_float4(kilometres(least[0]), kilometres(least[1]), kilometres(least[2]),
        kilometres(least[3]));
}
