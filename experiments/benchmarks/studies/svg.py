"""Plots as SVG text: anytime curves and a forest of ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from experiments.benchmarks.studies.comparing import Contest
from experiments.benchmarks.studies.curves import RANDOM, Chart, Curve

WIDTH, HEIGHT = 560, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 30, 40
_COLOURS = (
    "#0b62a4", "#d1491b", "#2e8b57", "#8e44ad", "#b8860b", "#008b8b", "#c2185b", "#5d6d7e",
    "#6b8e23", "#a0522d",
)  # fmt: skip
_ROW = 20
_HALF_LETTER = 3.6  # of the widest digit at 11 px


def colours(arms: Sequence[str]) -> dict[str, str]:
    """A colour per arm, the same in all plots; grey for what is only computed."""
    chosen = {arm: _COLOURS[at % len(_COLOURS)] for at, arm in enumerate(arms)}
    return {**chosen, RANDOM: "#888888"}


def curves_svg(chart: Chart, palette: Mapping[str, str], along: str = "unique evaluations") -> str:
    """Speedup against what the axis counts: a line for the median, a band for the quartiles."""
    frame = _Frame.of(chart)
    parts = [*frame.grid(), *_marks(chart, frame)]
    for curve in chart.curves:
        colour, dashed = palette[curve.arm], curve.arm == RANDOM
        shapes = [f"<title>{escape(curve.arm)}</title>"]
        if curve.low:
            shapes.append(f'<polygon points="{_band(curve, frame)}" fill="{colour}"/>')
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        shapes.append(f'<polyline points="{_line(curve, frame)}" stroke="{colour}"{dash}/>')
        parts.append(f'<g class="series">{"".join(shapes)}</g>')
    title = chart.task or "all tasks: share of the best recorded speedup"
    what = "share of the optimum" if not chart.task else "speedup"
    parts.append(f'<text x="{_LEFT}" y="18" class="title">{escape(title)}</text>')
    parts.append(_text(WIDTH / 2, HEIGHT - 6, along, "middle"))
    parts.append(
        f'<text transform="translate(13 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        f"{what}</text>"
    )
    return _svg(WIDTH, HEIGHT, parts)


class _Frame:
    """From evaluations and values to the plot's coordinates."""

    def __init__(self, count: int, low: float, high: float) -> None:
        self.count, self.low, self.high = count, low, high

    @classmethod
    def of(cls, chart: Chart) -> _Frame:
        """From the baseline, or where the curves begin, to a little above the optimum.

        What happens near the optimum is what matters, so the axis starts where the slowest arm is
        after a tenth of its evaluations.
        """
        count = max(len(curve.median) for curve in chart.curves)
        lows = [
            (curve.low or curve.median)[min(count // 10, len(curve.median) - 1)]
            for curve in chart.curves
        ]
        low = min(*lows, chart.optimum)
        return cls(count, low, chart.optimum + 0.04 * max(chart.optimum - low, 1e-6))

    def x(self, evaluations: float) -> float:
        span = max(1, self.count - 1)
        return _LEFT + (evaluations - 1) / span * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)

    def grid(self) -> list[str]:
        parts: list[str] = []
        for value in _ticks(self.low, self.high):
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
            parts.append(_text(_LEFT - 6, y + 4, f"{value:g}", "end"))
        below = HEIGHT - _BOTTOM + 16
        counts = _ticks(1, self.count)
        return parts + [_below(self.x(count), below, f"{count:g}") for count in counts]


def _marks(chart: Chart, frame: _Frame) -> list[str]:
    right = WIDTH - _RIGHT
    parts = [f'<path class="mark" d="M{_LEFT} {frame.y(chart.optimum):.1f}H{right}"/>']
    if chart.target is not None:
        y = frame.y(chart.target)
        parts.append(f'<path class="mark" stroke-dasharray="2 3" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(_text(right, y + 12, "target", "end"))
    if chart.budget is not None:
        x = frame.x(chart.budget)
        parts.append(
            f'<path class="mark" stroke-dasharray="2 3" d="M{x:.1f} {_TOP}V{HEIGHT - _BOTTOM}"/>'
        )
        parts.append(_text(x - 4, HEIGHT - _BOTTOM - 6, "budget", "end"))
    return parts


def _line(curve: Curve, frame: _Frame) -> str:
    return _points(curve.median, frame)


def _band(curve: Curve, frame: _Frame) -> str:
    forth = _points(curve.high, frame).split()
    back = _points(curve.low, frame).split()[::-1]
    return " ".join(forth + back)


def _points(values: Sequence[float], frame: _Frame) -> str:
    """Steps: a best so far stays what it is until the next evaluation."""
    points: list[str] = []
    for at, value in enumerate(values, start=1):
        y = f"{frame.y(value):.1f}"
        if points:
            points.append(f"{frame.x(at):.1f},{points[-1].split(',')[1]}")
        points.append(f"{frame.x(at):.1f},{y}")
    return " ".join(points)


def forest_svg(contests: Sequence[Contest], title: str, palette: Mapping[str, str]) -> str:
    """Ratios with their intervals on a logarithmic axis; right of 1 the reference is better.

    Thick: over seeds, for these tasks. Thin: over tasks and seeds.
    """
    ends = [1.0]
    for contest in contests:
        ends += [contest.low, contest.high, contest.low_here, contest.high_here]
    low, high = math.log(min(ends)), math.log(max(ends))
    pad = 0.05 * max(high - low, 0.02)
    low, high = low - pad, high + pad
    left, height = 150, 60 + _ROW * len(contests)

    def x(ratio: float) -> float:
        return left + (math.log(ratio) - low) / (high - low) * (WIDTH - left - _RIGHT)

    parts = [f'<text x="12" y="18" class="title">{escape(title)}</text>']
    for tick in _ratio_ticks(math.exp(low), math.exp(high)):
        kind = "mark" if tick == 1 else "grid"
        parts.append(f'<path class="{kind}" d="M{x(tick):.1f} 28V{height - 26}"/>')
        parts.append(_below(x(tick), height - 10, f"{tick:g}x"))
    for at, contest in enumerate(contests):
        y, colour = 42 + _ROW * at, palette[contest.arm]
        parts.append(_text(left - 8, y + 4, contest.arm, "end"))
        for width, ends in (
            (1.2, [contest.low, contest.high]),
            (4.0, [contest.low_here, contest.high_here]),
        ):
            parts.append(
                f'<path stroke="{colour}" stroke-width="{width}" '
                f'd="M{x(ends[0]):.1f} {y}H{x(ends[1]):.1f}"/>'
            )
        parts.append(f'<circle cx="{x(contest.ratio):.1f}" cy="{y}" r="4" fill="{colour}"/>')
    return _svg(WIDTH, height, parts)


def _ticks(low: float, high: float) -> list[float]:
    """About six round numbers between `low` and `high`."""
    span = max(high - low, 1e-9)
    size = 10 ** math.floor(math.log10(span / 6))
    step = next(size * by for by in (1, 2, 5, 10) if span / (size * by) <= 7)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [round((first + at) * step, 10) for at in range(count)]


def _ratio_ticks(low: float, high: float) -> list[float]:
    return (
        [tick for tick in _ticks(low, high) if tick > 0]
        if high / low < 8
        else _doublings(low, high)
    )


def _doublings(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    return [2.0**power for power in range(first, last + 1)]


def _below(x: float, y: float, words: str) -> str:
    """The label of a tick, which the border of the picture does not cut."""
    half = _HALF_LETTER * len(words)
    return _text(min(x, WIDTH - half), y, words, "middle")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">{STYLE}{"".join(parts)}</svg>'
    )


STYLE = (
    "<style>text{font:11px system-ui,sans-serif;fill:#444}.title{font-weight:600;fill:#111}"
    ".grid{stroke:#ddd;fill:none}.mark{stroke:#777;fill:none}"
    ".series polyline{fill:none;stroke-width:1.8;stroke-linejoin:round}"
    ".series polygon{opacity:.1}"
    "svg:hover .series{opacity:.2}svg .series:hover{opacity:1}.series:hover polygon{opacity:.3}"
    "</style>"
)
