"""The roofline as an SVG picture, readable on light and dark pages, with words for readers of text.

Without a chart it shows how busy each unit was instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from experiments.inspect.facts import units
from experiments.inspect.results import Inspection, Part
from experiments.inspect.roofs import chart_of, why_no_chart
from experiments.text.words import clean
from experiments.views.roofline import Chart, Roof
from mcts.errors import InputError
from mcts.text import cut

_WIDTH, _HEIGHT = 720, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 74, 58
_LABEL_AT = 0.95
"""Where along a memory roof its name ends: near the top, most kernels stand further down."""
_MEMORY = {"DRAM": "dram", "L2": "l2", "shared": "shared"}
_STYLE = """
svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
.page { fill: #ffffff; } .ink { fill: #1f2933; } .soft { fill: #616e7c; }
.grid { stroke: #e4e7eb; } .frame { stroke: #9aa5b1; fill: none; }
.dram { stroke: #1f6feb; } .l2 { stroke: #0f8a8a; } .shared { stroke: #7a5cc4; }
.roof { stroke: #3e4c59; } .lift { stroke: #d97706; }
.tdram { fill: #1f6feb; } .tl2 { fill: #0b7272; } .tshared { fill: #7a5cc4; }
.point { fill: #d97706; stroke: #ffffff; } .bar { fill: #d97706; } .rest { fill: #e4e7eb; }
.halo { stroke: #ffffff; stroke-width: 4; paint-order: stroke; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  .page { fill: #11171d; } .ink { fill: #e4e7eb; } .soft { fill: #9aa5b1; }
  .grid { stroke: #2b3743; } .frame { stroke: #616e7c; }
  .dram { stroke: #6ea8fe; } .l2 { stroke: #4fc4c4; } .shared { stroke: #b39ddb; }
  .roof { stroke: #cbd2d9; } .lift { stroke: #f0b45c; }
  .tdram { fill: #6ea8fe; } .tl2 { fill: #4fc4c4; } .tshared { fill: #b39ddb; }
  .point { fill: #f0b45c; stroke: #11171d; } .bar { fill: #f0b45c; } .rest { fill: #2b3743; }
  .halo { stroke: #11171d; }
}
"""


def svg(inspection: Inspection) -> str:
    """The picture. InputError if there is neither a place on the roofline nor a counter."""
    title = _title(inspection)
    chart = chart_of(inspection.parts)
    if chart is not None:
        return _document(title, _words(chart), [*_axes(chart), *_roofs(chart), *_points(chart)])
    used = [(part, found) for part in inspection.parts if (found := _used(part))]
    if not used:
        raise InputError(f"there is nothing to draw: {why_no_chart(inspection.parts)}")
    words = f"% of each unit's peak; no roofline: {why_no_chart(inspection.parts)}"
    return _document(title, words, _bars(used[0][1]))


def _title(inspection: Inspection) -> str:
    kernel = inspection.parts[0].kernel
    name = clean(kernel.name) if kernel else clean(inspection.file.name)
    return f"{name} on {clean(str(inspection.hardware or 'an unnamed device'))}"


def _words(chart: Chart) -> str:
    """What the picture shows, for those who do not see it."""
    said = [
        f"{clean(point.name)} reaches {point.rate:.3g} TFLOP/s at {point.intensity:.3g} "
        f"FLOP/byte, {point.rate / chart.limit_of(point):.0%} of what DRAM and arithmetic allow"
        for point in chart.points
    ]
    return "; ".join(said)


def _document(title: str, words: str, body: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-labelledby="title desc">'
        f'<title id="title">{escape(title)}</title><desc id="desc">{escape(words)}</desc>'
        f"<style>{_STYLE}</style>"
        f'<rect class="page" width="{_WIDTH}" height="{_HEIGHT}"/>'
    )
    heading = _text(_LEFT, 30, cut(title, 62), size=17, weight="600")
    below = _text(_LEFT, 51, cut(words, 96), kind="soft", size=12)
    return "\n".join([head, heading, below, *body, "</svg>\n"])


def _axes(chart: Chart) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for power in chart.x.powers():
        x = _x(chart, 10.0**power)
        yield _line((x, _TOP), (x, bottom), "grid", width=1)
        yield _text(x, bottom + 19, f"{10.0**power:g}", kind="soft", anchor="middle")
    for power in chart.y.powers():
        y = _y(chart, 10.0**power)
        yield _line((_LEFT, y), (right, y), "grid", width=1)
        yield _text(_LEFT - 9, y + 4, f"{10.0**power:g}", kind="soft", anchor="end")
    yield (
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{right - _LEFT}" '
        f'height="{bottom - _TOP}"/>'
    )
    middle = (_LEFT + right) / 2
    yield _text(middle, _HEIGHT - 14, "FLOP per byte", kind="soft", anchor="middle")
    yield (
        f'<text class="soft" font-size="13" text-anchor="middle" '
        f'transform="translate(20 {(_TOP + bottom) / 2:.1f}) rotate(-90)">TFLOP/s</text>'
    )


def _roofs(chart: Chart) -> Iterator[str]:
    for roof in chart.memory:
        yield from _slope(chart, roof)
    for roof in chart.compute:
        level = roof.at(1.0)
        y, right = _y(chart, level), _WIDTH - _RIGHT
        start = max(_LEFT, _x(chart, chart.start_of(roof)))
        yield _line((start, y), (right, y), "roof", width=2)
        label = f"{roof.name} {level:.3g} TFLOP/s"
        yield _text(right - 6, y - 7, label, anchor="end", size=12, halo=True)


def _slope(chart: Chart, roof: Roof) -> Iterator[str]:
    """The roof, with its name along it."""
    span = chart.span_of(roof)
    if span is None:
        return
    begin, end = span
    first = (_x(chart, begin), _y(chart, roof.at(begin)))
    last = (_x(chart, end), _y(chart, roof.at(end)))
    kind = _MEMORY.get(roof.name, "dram")
    yield _line(first, last, kind, width=2)
    angle = math.degrees(math.atan2(last[1] - first[1], last[0] - first[0]))
    at = (first[0] + _LABEL_AT * (last[0] - first[0]), first[1] + _LABEL_AT * (last[1] - first[1]))
    below = 15 if roof is chart.memory[0] else -6
    yield (
        f'<text class="t{kind} halo" font-size="12" text-anchor="end" dy="{below}" '
        f'transform="translate({at[0]:.1f} {at[1]:.1f}) rotate({angle:.1f})">'
        f"{escape(roof.name)} {roof.at(1.0) * 1e3:,.0f} GB/s</text>"
    )


def _points(chart: Chart) -> Iterator[str]:
    for point in chart.points:
        x, y = _x(chart, point.intensity), _y(chart, point.rate)
        top = _y(chart, chart.limit_of(point))
        yield _line((x, top), (x, y), "lift", width=1.5, dashed=True)
        yield f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="7" stroke-width="2"/>'
        left = x > (_LEFT + _WIDTH - _RIGHT) / 2
        at, anchor = (x - 13, "end") if left else (x + 13, "start")
        label = f"{cut(clean(point.name), 40)}, {point.rate:.3g} TFLOP/s"
        yield _text(at, y + 17, label, anchor=anchor, weight="600", halo=True)


def _used(part: Part) -> list[tuple[str, float]]:
    return units(part.kernel, part.profile.hardware) if part.kernel else []


def _bars(values: Sequence[tuple[str, float]]) -> Iterator[str]:
    step, left, wide = 52, _LEFT + 20, _WIDTH - _LEFT - 110
    for place, (name, value) in enumerate(values):
        y = _TOP + 20 + place * step
        filled = wide * min(100.0, max(0.0, value)) / 100
        yield _text(left - 12, y + 18, name, anchor="end")
        yield f'<rect class="rest" x="{left}" y="{y}" width="{wide}" height="26" rx="4"/>'
        yield f'<rect class="bar" x="{left}" y="{y}" width="{filled:.1f}" height="26" rx="4"/>'
        yield _text(left + wide + 10, y + 18, f"{value:.1f} %")


def _text(
    x: float, y: float, text: str, *, kind: str = "ink", anchor: str = "start", size: int = 13,
    weight: str = "400", halo: bool = False,
) -> str:  # fmt: skip
    classes = f"{kind} halo" if halo else kind
    return (
        f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
        f'font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(
    begin: tuple[float, float], end: tuple[float, float], kind: str, *, width: float,
    dashed: bool = False,
) -> str:  # fmt: skip
    dash = ' stroke-dasharray="4 4"' if dashed else ""
    return (
        f'<line class="{kind}" x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" '
        f'y2="{end[1]:.1f}" stroke-width="{width}"{dash}/>'
    )


def _x(chart: Chart, intensity: float) -> float:
    return _LEFT + chart.x.share(math.log10(intensity)) * (_WIDTH - _LEFT - _RIGHT)


def _y(chart: Chart, rate: float) -> float:
    return _HEIGHT - _BOTTOM - chart.y.share(math.log10(rate)) * (_HEIGHT - _TOP - _BOTTOM)
