/* Copyright (c) The Rooftree developers.
 * SPDX-License-Identifier: Apache-2.0
 */
/*! \file
    \brief A tiny matrix product for Hopper that loads by TMA.
*/
#include "cutlass/gemm/collective/sm90_tiny_mainloop.hpp"

using Element = float;
using Tile = int;
using Mainloop = cutlass::gemm::collective::TinyMainloop<Tile, Element>;

__global__ void __launch_bounds__(128, 1)
tiny_gemm_kernel(float const* a, float const* b, float* c)
{
  Mainloop mainloop(0);
  mainloop.load({a, b}, 4);
}

int main()
{
  tiny_gemm_kernel<<<1, 128>>>(nullptr, nullptr, nullptr);
  return 0;
}
