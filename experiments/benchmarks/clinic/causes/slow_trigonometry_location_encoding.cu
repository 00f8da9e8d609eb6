// Planted: a location encoder feeds sinf and cosf with eastings and northings in metres times 2 pi
// over wavelengths of a few metres. Repair: the phase in turns, its whole part dropped, and sincospif.
/* rooftree
[shape]
places = 4194304
scales = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "coordinates"
role = "input"
shape = ["places", 2]
[[buffer]]
name = "features"
role = "output"
shape = ["scales", 2, "places", 2]
[cost]
bytes = "8 * places + 16 * scales * places"
flops = "64 * scales * places"
math = "fp32"
[[launch]]
kernel = "encode_locations"
grid = ["places // 256"]
block = [256]
args = ["coordinates", "features", "places", "scales"]
*/
__device__ float2 encode(float metres, float waves_per_metre)
{
#if REPAIRED
    const float whole = rintf(metres * waves_per_metre);
    float2 e;
    sincospif(2.0f * fmaf(metres, waves_per_metre, -whole), &e.x, &e.y);
    return e;
#else
    const float angle = 6.2831853f * metres * waves_per_metre;
    return make_float2(sinf(angle), cosf(angle));
#endif
}

extern "C" __global__ void encode_locations(
    const float2* __restrict__ coordinates, float2* __restrict__ features, int places, int scales)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float2 v = coordinates[i];
    const float east = fmaf(20000.0f, v.x, 500000.0f), north = fmaf(20000.0f, v.y, 5400000.0f);
    float waves_per_metre = 1.0f;
    for (int scale = 0; scale < scales; ++scale) {
        features[(2 * scale) * places + i] = encode(east, waves_per_metre);
        features[(2 * scale + 1) * places + i] = encode(north, waves_per_metre);
        waves_per_metre *= 0.69f;
    }
}
