"""Small texts of a display: durations, a curve in one line."""

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


def clock(seconds: float) -> str:
    """``42 s``, ``3 min 05 s``, ``2 h 07 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
