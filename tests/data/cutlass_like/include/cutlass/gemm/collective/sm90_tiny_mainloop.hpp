/* Copyright (c) The Rooftree developers.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cute/arch/copy_sm90_tma.hpp"

namespace cutlass::gemm::collective {

namespace detail {

// Bytes of one stage of the pipeline.
constexpr int
stage_bytes(int rows, int columns)
{
  return rows * columns * 2;
}

} // namespace detail

template <class Tile, class Stages>
struct TinyMainloop;

/// Producer and consumer halves of a pipelined main loop.
template <
  class Tile,
  class Stages
>
struct TinyMainloop
{
  struct Arguments {
    void const* a = nullptr;
    void const* b = nullptr;
  };

  int state;
  int count[4] = {0, 0, 0, 0};

  TinyMainloop(int start) : state{start}, stages_(2)
  {
    state = start;
  }

  /// The producer warp fills the stages, one box after the other.
  CUTE_HOST_DEVICE void
  load(Arguments const& arguments = {}, int k_tiles = 1)
  {
    for (int k = 0; k < k_tiles; ++k) {
      cute::SM90_TMA_LOAD::copy(arguments.a, nullptr, nullptr, 0, k);
#if defined(TINY_TWO)
      if (k > 1) {
        cute::SM90_TMA_LOAD::copy(arguments.b, nullptr, nullptr, 1, k);
#else
      {
        cute::SM90_TMA_LOAD::copy(arguments.b, nullptr, nullptr, 2, k);
#endif
      }
    }
  }

  // Consumers wait for a stage and multiply it into the accumulators.
  template <class Accumulators>
  CUTE_HOST_DEVICE void
  mma(Accumulators& accumulators, int k_tiles)
  {
    for (int k = 0; k < k_tiles; ++k) {
      accumulators(0) += 1; // not a real product
      state ^= 1;
    }
  }

  CUTE_HOST_DEVICE
  static bool
  can_implement(Arguments const& arguments)
  {
    bool fits = true;
    fits = fits && arguments.a != nullptr;
    fits = fits && arguments.b != nullptr;
    return fits;
  }

  CUTE_HOST_DEVICE
  void
  tail()
  {
    cute::tma_store_wait<0>();
    state = 0;
    count[0] = 1;
    count[1] = 2;
    count[2] = 3;
  }

private:
  int stages_;
};

} // namespace cutlass::gemm::collective
