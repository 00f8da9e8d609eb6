"""The roofline and the units' use in characters, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.views.roofline import Chart, Roof

WIDTH, HEIGHT = 60, 14
"""Characters of the plotting area, axis labels included."""
_AXIS = 8
_MARKS = "XOABCDEFGH"
_SLOPES = {"DRAM": "/", "L2": ":", "shared": "."}
_BAR = 30


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters to draw with, as the output's encoding allows."""

    full: str
    empty: str

    @classmethod
    def of(cls, encoding: str | None) -> Glyphs:
        try:
            "█░".encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return cls("#", ".")
        return cls("█", "░")


def bar(share: float, glyphs: Glyphs, *, width: int) -> str:
    """`share` of [0, 1] as a bar."""
    filled = round(min(1.0, max(0.0, share)) * width)
    return glyphs.full * filled + glyphs.empty * (width - filled)


def bars(values: Sequence[tuple[str, float]], glyphs: Glyphs) -> list[str]:
    """A line per unit: name, bar, % of its peak."""
    return [
        f"{name:<6} {bar(value / 100, glyphs, width=_BAR)} {value:5.1f} %" for name, value in values
    ]


def roofline(chart: Chart, *, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    """The chart as `height` lines of at most `width` characters, and a key below."""
    canvas = _Canvas(chart, columns=width - _AXIS, rows=height - 2)
    for roof in reversed(chart.memory):
        canvas.slope(roof)
    for roof in chart.compute:
        canvas.level(roof)
    for mark, point in zip(_MARKS, chart.points, strict=False):
        canvas.put(math.log10(point.intensity), math.log10(point.rate), mark)
    return [*canvas.lines(), *_key(chart)]


class _Canvas:
    """A grid of characters over the chart's ranges."""

    def __init__(self, chart: Chart, *, columns: int, rows: int) -> None:
        self._chart = chart
        self._cells = [[" "] * columns for _ in range(rows)]
        self._columns, self._rows = columns, rows

    def put(self, x: float, y: float, mark: str) -> None:
        """Mark the cell at the powers of ten `x`, `y`; outside the ranges nothing is drawn."""
        column = round(self._chart.x.share(x) * (self._columns - 1))
        row = round((1 - self._chart.y.share(y)) * (self._rows - 1))
        if 0 <= column < self._columns and 0 <= row < self._rows:
            self._cells[row][column] = mark

    def slope(self, roof: Roof) -> None:
        for x in self._steps():
            rate = roof.at(10**x)
            if rate <= self._chart.summit:
                self.put(x, math.log10(rate), _SLOPES.get(roof.name, "/"))

    def level(self, roof: Roof) -> None:
        start = math.log10(self._chart.start_of(roof))
        for x in self._steps():
            if x >= start:
                self.put(x, math.log10(roof.at(1.0)), "-")
        self._label(roof)

    def _label(self, roof: Roof) -> None:
        """The roof's name at its right end."""
        text = f" {roof.name}"
        row = round((1 - self._chart.y.share(math.log10(roof.at(1.0)))) * (self._rows - 1))
        if 0 <= row < self._rows:
            self._cells[row][self._columns - len(text) :] = text

    def _steps(self) -> list[float]:
        low, high = self._chart.x.low, self._chart.x.high
        return [low + (high - low) * i / (self._columns - 1) for i in range(self._columns)]

    def lines(self) -> list[str]:
        ticks = self._ticks()
        drawn = [
            f"{ticks.get(row, ''):>{_AXIS - 1}}|{''.join(cells)}".rstrip()
            for row, cells in enumerate(self._cells)
        ]
        return [*drawn, " " * (_AXIS - 1) + "+" + "-" * self._columns, self._x_labels()]

    def _ticks(self) -> dict[int, str]:
        """Powers of ten by row."""
        found = {}
        for power in self._chart.y.powers():
            row = round((1 - self._chart.y.share(power)) * (self._rows - 1))
            found[row] = f"{10.0**power:g}"
        return found

    def _x_labels(self) -> str:
        line = [" "] * (_AXIS + self._columns)
        for power in self._chart.x.powers():
            text = f"{10.0**power:g}"
            at = _AXIS + round(self._chart.x.share(power) * (self._columns - 1))
            if at + len(text) <= len(line):
                line[at : at + len(text)] = text
        return "".join(line).rstrip()


def _key(chart: Chart) -> list[str]:
    """What the marks mean."""
    slopes = ", ".join(f"{_SLOPES.get(roof.name, '/')} {roof.name}" for roof in chart.memory)
    points = [
        f"{mark} {point.name}: {point.rate:.3g} TFLOP/s at {point.intensity:.3g} FLOP/byte"
        for mark, point in zip(_MARKS, chart.points, strict=False)
    ]
    return [f"TFLOP/s over FLOP/byte; roofs: {slopes}", *points]
