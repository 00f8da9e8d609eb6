"""Small texts of a display: a curve in one line."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """`values` as bars from the least to the greatest, thinned to `width` characters."""
    if len(values) > width:
        values = [values[i * (len(values) - 1) // max(1, width - 1)] for i in range(width)]
    low, high = min(values), max(values)
    span = high - low
    return "".join(_BARS[round((v - low) / span * 7) if span > 0 else 0] for v in values)
