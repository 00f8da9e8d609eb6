"""Keys that encrypt ("seal") device memory: without its key, a region reads as noise.

The keystream is that of `support.cu`: word i is ``mix(mix(a + i) ^ b)``, where `mix` is splitmix64
(Steele, Lea & Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
"""

from __future__ import annotations

import ctypes
import secrets
from typing import NamedTuple

_MASK = 2**64 - 1


class Key(NamedTuple):
    """Two secret words; both are zero if nothing is sealed."""

    a: int = 0
    b: int = 0

    @property
    def arguments(self) -> tuple[ctypes.c_uint64, ctypes.c_uint64]:
        """As a kernel takes them."""
        return ctypes.c_uint64(self.a), ctypes.c_uint64(self.b)


UNSEALED = Key()


def fresh_key() -> Key:
    """A key from the system's entropy."""
    return Key(secrets.randbits(64) | 1, secrets.randbits(64))


def mix(x: int) -> int:
    """splitmix64's step."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def unsealed(raw: bytes, offset: int, key: Key) -> bytes:
    """Decrypt bytes read at `offset` of a sealed region; sealing is its own inverse.

    A key of zeros leaves them as they are.
    """
    if key == UNSEALED:
        return raw
    return bytes(byte ^ _stream_byte(offset + place, key) for place, byte in enumerate(raw))


def _stream_byte(position: int, key: Key) -> int:
    word = mix(mix((key.a + position // 8) & _MASK) ^ key.b)
    return word >> (8 * (position % 8)) & 0xFF
