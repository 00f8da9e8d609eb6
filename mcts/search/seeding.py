"""Counter-based seeds: any draw can be repeated from its coordinates alone.

A streamed generator would have to be saved with the run; a derived seed lets a resumed run
continue as if it had never stopped, and keeps one draw from shifting all that follow.
"""

from __future__ import annotations

import hashlib


def seed_from(*parts: int | str) -> int:
    """Derive an independent 63-bit seed from a run seed and the coordinates of a purpose."""
    body = "\x00".join(str(part) for part in parts).encode()
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "big") >> 1
