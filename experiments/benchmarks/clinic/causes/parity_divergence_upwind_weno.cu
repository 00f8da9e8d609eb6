// Planted: the wind's sign chooses between a left- and a right-biased reconstruction, and lanes of one
// warp differ. Repair: one formula whose stencil is mirrored by the sign.
/* rooftree
[shape]
cells = 4194304
tracers = 8
[tunables]
REPAIRED = { values = [0, 1], default = 0 }
[[buffer]]
name = "wind"
role = "input"
shape = ["cells"]
[[buffer]]
name = "density"
role = "input"
shape = ["tracers", "cells + 8"]
[[buffer]]
name = "flux"
role = "output"
shape = ["tracers", "cells"]
[cost]
bytes = "4 * cells * (2 * tracers + 1)"
flops = "75 * cells * tracers"
[[launch]]
kernel = "upwind_flux"
grid = ["cells // 256"]
block = [256]
args = ["wind", "density", "flux", "cells", "tracers"]
*/
__device__ float smooth(float a, float b, float c, float slope)
{
    const float bend = a - 2.0f * b + c;
    const float rough = 1e-6f + 1.0833333f * bend * bend + 0.25f * slope * slope;
    return __fdividef(1.0f, rough * rough);
}

// WENO5: the value at the face behind the third of five cells, in the direction of the wind.
__device__ float weno(float a, float b, float c, float d, float e)
{
    const float first = 0.1f * smooth(a, b, c, a - 4.0f * b + 3.0f * c);
    const float second = 0.6f * smooth(b, c, d, b - d);
    const float third = 0.3f * smooth(c, d, e, 3.0f * c - 4.0f * d + e);
    const float left = 2.0f * a - 7.0f * b + 11.0f * c, middle = -b + 5.0f * c + 2.0f * d;
    const float right = 2.0f * c + 5.0f * d - e;
    return __fdividef(first * left + second * middle + third * right, 6.0f * (first + second + third));
}

extern "C" __global__ void upwind_flux(const float* __restrict__ wind,
    const float* __restrict__ density, float* __restrict__ flux, int cells, int tracers)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float u = wind[i];
    const float* q = density + i + 3;  // the face lies between q[0] and q[1]
    const int pitch = cells + 8;
#if REPAIRED
    const int s = u > 0.0f ? 1 : -1;
    q += u > 0.0f ? 0 : 1;
#pragma unroll 1
    for (int t = 0; t < tracers; ++t, q += pitch)
        flux[t * cells + i] = u * weno(q[-2 * s], q[-s], q[0], q[s], q[2 * s]);
#else
    if (u > 0.0f) {
#pragma unroll 1
        for (int t = 0; t < tracers; ++t, q += pitch)
            flux[t * cells + i] = u * weno(q[-2], q[-1], q[0], q[1], q[2]);
    } else {
#pragma unroll 1
        for (int t = 0; t < tracers; ++t, q += pitch)
            flux[t * cells + i] = u * weno(q[3], q[2], q[1], q[0], q[-1]);
    }
#endif
}
