"""Damage to bytes and to text."""

from __future__ import annotations

import copy
import random
from typing import Any

PIECES = (
    "", "0", "-1", "1e999", "NaN", "9" * 5000, "[" * 3000, "{" * 500, '"', "'", "\\", "\x00",
    "\u2028", "/*", "*/", "/* rooftree ", "```", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE",
    "\n" * 50, "a.b.c.d = 1\n", "true", "null", "é😀", "</script><script>", "\x1b[2J",
    "%s{}{0}$(x)", " " * 2000,
)  # fmt: skip

WRONG = (
    None, True, -1, 0, 1e300, 2**70, float("nan"), "", "x" * 5000, "\u2028", [], [[[]]], {},
    {"": {}}, [None, 1, "x"],
)  # fmt: skip


def retyped(document: Any, rng: random.Random) -> Any:
    """The same JSON with a value, anywhere, that is left out or of another type."""
    changed = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []

    def collect(one: Any) -> None:
        keys = one if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            places.append((one, key))
            collect(one[key])

    collect(changed)
    if not places:
        return rng.choice(WRONG)
    where, key = rng.choice(places)
    if rng.random() < 0.2:
        del where[key]
    else:
        where[key] = copy.deepcopy(rng.choice(WRONG))
    return changed


def damage(data: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut, doubled or overwritten; never the same as before."""
    if not data:
        return bytes([rng.randrange(256)])
    changed = bytearray(data)
    way = rng.random()
    if way < 0.6:
        for _ in range(rng.choice((1, 1, 1, 4, 64))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif way < 0.75:
        del changed[rng.randrange(len(changed)) :]
    elif way < 0.9:
        at = rng.randrange(len(changed))
        changed[at : at + 1] = rng.randbytes(rng.choice((1, 16, 512)))
    else:
        at = rng.randrange(len(changed))
        changed[at:at] = changed[: rng.randrange(1, 4096)]
    return bytes(changed) if bytes(changed) != data else data + b"\x00"


def garble(text: str, rng: random.Random) -> str:
    """Pieces of the text taken out, doubled, swapped, or replaced by what breaks parsers."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        to = min(to, at + rng.choice((0, 1, 8, 200)))
        way = rng.random()
        if way < 0.5:
            text = text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 40)) + text[to:]
        elif way < 0.7:
            text = text[:at] + text[to:]
        elif way < 0.85:
            text = text[:to] + text[at:to] * rng.choice((1, 3, 100)) + text[to:]
        else:
            text = text[:at] + text[at:to][::-1] + text[to:]
    return text
