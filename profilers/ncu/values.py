"""Cells of an ncu table: numbers in the notation of the report, converted to base units.

ncu prints numbers as its locale does and, unless told otherwise, scaled to a fitting unit. A value
whose notation or scale cannot be determined is refused with a reason, never guessed.
"""

from __future__ import annotations

import math
import re
from enum import Enum

from mcts.domain import Metric


class Notation(Enum):
    """How a report writes numbers."""

    POINT = "1,234.5"
    COMMA = "1.234,5"
    MIXED = "both 1,234.5 and 1.234,5"


def _pattern(group: str, decimal: str) -> re.Pattern[str]:
    grouped = rf"[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+(?:{decimal}[0-9]+)?"
    plain = rf"[0-9]+(?:{decimal}[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?"
    return re.compile(rf"[+-]?(?:{grouped}|{plain})")


_POINT = _pattern(",", r"\.")
_COMMA = _pattern(r"\.", ",")
_WHOLE = re.compile(r"[+-]?[0-9]+(?:[eE][+-]?[0-9]{1,3})?")
_GAP = re.compile("(?<=[0-9])[ \u00a0\u202f'’](?=[0-9]{3}(?![0-9]))")
"""Separators between groups of three digits in some locales; never a decimal mark."""


class NotationDetector:
    """Finds out a report's notation from the cells that can be read in one notation only.

    Cells of the wanted metrics decide; those of other columns only if these do not tell, because
    they may hold text that looks like a number. Without any evidence it is the C locale.
    """

    def __init__(self) -> None:
        self._ours: set[Notation] = set()
        self._others: set[Notation] = set()

    @property
    def undecided(self) -> bool:
        return not self._ours

    def observe(self, cell: str, *, ours: bool) -> None:
        text = _GAP.sub("", cell.strip())
        point, comma = _POINT.fullmatch(text), _COMMA.fullmatch(text)
        if (point is None) != (comma is None):
            heard = Notation.COMMA if point is None else Notation.POINT
            (self._ours if ours else self._others).add(heard)

    def notation(self) -> Notation:
        if len(self._ours) > 1:
            return Notation.MIXED
        heard = self._ours or self._others
        return next(iter(heard)) if len(heard) == 1 else Notation.POINT


def read_value(name: str, cell: str, unit: str | None, notation: Notation) -> Metric | str:
    """The metric in `cell` in a base unit, or in one sentence why it cannot be read.

    `unit` is None if the table does not say it.
    """
    if not cell.strip():
        return "ncu printed nothing"
    text = _GAP.sub("", cell.strip())
    number = _number(text, notation)
    if number is None:
        if notation is Notation.MIXED and (_POINT.fullmatch(text) or _COMMA.fullmatch(text)):
            return f"the report writes numbers as {notation.value}, so {cell[:40]!r} may mean two"
        return f"ncu printed {cell[:40]!r}"
    return in_base_unit(name, number, unit)


def _number(text: str, notation: Notation) -> float | None:
    if _WHOLE.fullmatch(text):
        plain = text
    elif notation is Notation.POINT and _POINT.fullmatch(text):
        plain = text.replace(",", "")
    elif notation is Notation.COMMA and _COMMA.fullmatch(text):
        plain = text.replace(".", "").replace(",", ".")
    else:
        return None
    value = float(plain)
    return value if math.isfinite(value) else None


class _Kind(Enum):
    TIME, BYTES, COUNT, PERCENT, OTHER = range(5)


def in_base_unit(name: str, value: float, unit: str | None) -> Metric | str:
    """`value` in ns, byte, inst and so on; a sentence if `unit` does not fit the metric.

    Without a unit only values that ncu never scales are accepted: percentages, ratios, launch
    figures.
    """
    kind = _kind(name)
    if unit is None:
        if kind in (_Kind.TIME, _Kind.BYTES, _Kind.COUNT):
            return "the report does not say its unit, so its scale is unknown"
        return Metric(value=value, unit="%" if kind is _Kind.PERCENT else "")
    base, factor = _scale(unit.strip())
    if not _fits(kind, base):
        return f"its unit reads {unit[:40]!r}, which it cannot have"
    scaled = value * factor
    if not math.isfinite(scaled):
        return f"{value:g} {unit[:40]} is out of range"
    return Metric(value=scaled, unit=base)


def _kind(name: str) -> _Kind:
    form = name.rpartition(".")[2] if "." in name else ""
    if "pct" in form or name.endswith("_pct"):
        return _Kind.PERCENT
    if form.startswith(("ratio", "per_cycle")):
        return _Kind.OTHER
    if "__time_" in name:
        return _Kind.TIME
    if "bytes" in name or name.startswith("launch__shared_mem"):
        return _Kind.BYTES
    return _Kind.COUNT if form else _Kind.OTHER


_TIMES = {
    "ns": 1.0, "nsecond": 1.0, "us": 1e3, "µs": 1e3, "usecond": 1e3,
    "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9,
}  # fmt: skip
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_COUNTED = "sector|inst|request|cycle|warp|thread|block|branch|cluster|wavefront|sample|pass|hz"
_SCALED = re.compile(rf"([KMGTP]?)((?:byte|{_COUNTED}).*)")


def _scale(unit: str) -> tuple[str, float]:
    """The base unit of `unit` and how many of them it is; ncu's prefixes are decimal."""
    if unit in _TIMES:
        return "ns", _TIMES[unit]
    if found := _SCALED.fullmatch(unit):
        return found[2], _PREFIXES[found[1]]
    return unit, 1.0


def _fits(kind: _Kind, base: str) -> bool:
    if kind is _Kind.TIME:
        return base == "ns"
    if kind is _Kind.BYTES:
        return base.startswith("byte")
    if kind is _Kind.PERCENT:
        return base in ("%", "")
    return kind is _Kind.OTHER or not base or re.match(_COUNTED, base) is not None
