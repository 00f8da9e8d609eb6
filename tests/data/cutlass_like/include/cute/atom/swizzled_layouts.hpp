/* Copyright (c) The Rooftree developers.
 * SPDX-License-Identifier: Apache-2.0
 */
/*! \file
    \brief Layouts of shared memory that keep clear of bank conflicts.
*/
#pragma once

namespace cute::tiny {

/// How many bytes a row spans before the pattern repeats.
enum class SwizzleMode : unsigned char {
  None = 0, // as it is
  B64 = 1,
  B128
};

// Flips bits of an offset by an exclusive or.
template <int Bits, int Base = 4>
struct XorSwizzle
{
  static constexpr int mask = (1 << Bits) - 1;

  template <class Offset>
  CUTE_HOST_DEVICE constexpr static auto
  apply(Offset const& offset)
  {
    if (offset > 0) {
      return offset ^ ((offset >> Base) & mask);
    }
    return offset;
  }

  CUTE_HOST_DEVICE constexpr bool operator==(XorSwizzle const&) const { return true; }
};

template <>
struct XorSwizzle<0, 4>
{
  CUTE_HOST_DEVICE constexpr static int apply(int offset) { return offset; }
};

/// Row-major atoms for the 128 byte pattern.
template <class T>
using Layout_Row_SW128 = XorSwizzle<3>;

template <class T>
concept Swizzled = requires(T t) { T::mask; };

} // namespace cute::tiny
