/* Copyright (c) The Rooftree developers.
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <cute/config.hpp> // CUTE_HOST_DEVICE

#define CUTE_TINY_TMA_ENABLED
#define CUTE_TINY_CHECK(x)                \
  do {                                    \
    if (!(x)) { __trap(); }               \
  } while (0)

namespace cute {

////////////////////////////////////////////////////////////////////////////////
// Loads
////////////////////////////////////////////////////////////////////////////////

/// Starts a load of one box from global to shared memory.
/// An mbarrier counts the bytes that have arrived.
struct SM90_TMA_LOAD
{
  CUTE_HOST_DEVICE static void
  copy(void const* descriptor, unsigned long* barrier, void* smem, int x, int y)
  {
#if defined(CUTE_TINY_TMA_ENABLED)
    asm volatile("tma.load { %0, %1 };" :: "r"(x), "r"(y));
#else
    CUTE_TINY_CHECK(false && "no { here");
#endif
  }

  using Barrier = unsigned long;
};

/// The same load, which fills the shared memory of several CTAs at once.
struct SM90_TMA_LOAD_MULTICAST
{
  CUTE_HOST_DEVICE static void
  copy(void const* descriptor, unsigned short multicast_mask) { (void)multicast_mask; }
};

// Waits until at most Count stores are still reading shared memory.
template <int Count>
CUTE_HOST_DEVICE void
tma_store_wait()
{
  asm volatile("tma.wait %0;" :: "n"(Count) : "memory");
}

template <class T>
CUTE_HOST_DEVICE T later(T const& value);

} // namespace cute
