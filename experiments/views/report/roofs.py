"""Where the variants stand under the roofline of the device that measured them.

The abscissa is what a variant does per byte that it really moved through device memory, by its
counters; where those are not known, per byte that the work needs. So a change that saves traffic
moves a variant to the right, one that saves time moves it up. Williams, Waterman, Patterson,
"Roofline", CACM 52 (2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiments.text.floor import floor_text
from experiments.views.roofline import Point, Roof, SimpleChart
from mcts.domain import Ceilings, Timing
from mcts.journal.record import NodeRecord


@dataclass(frozen=True, slots=True)
class Place:
    """A variant under the roofline: `intensity` in flop per byte, `rate` in TFLOP/s; both None for
    work without arithmetic. `counted` says whether the bytes are measured."""

    bound: str
    level: str
    intensity: float | None = None
    rate: float | None = None
    counted: bool = False


def place_of(node: NodeRecord) -> Place | None:
    """Where `node` stands; None if its roofline is not known."""
    roofline = node.roofline
    if roofline is None:
        return None
    bare = Place(roofline.bound, roofline.level or "")
    rate, needed = roofline.achieved_tflop_per_s, roofline.intensity_flop_per_byte
    timing = _timing(node)
    if not rate or not needed or timing is None:
        return bare
    flops = rate * 1e6 * timing.heaviest.median_us
    profile = node.evaluation.profile if node.evaluation else None
    moved = profile.dram_bytes if profile is not None else None
    intensity = flops / moved if moved else needed
    return Place(bare.bound, bare.level, intensity, rate, counted=bool(moved))


def floor_of(node: NodeRecord) -> str:
    """How far `node` is from the least time of its work, in words; empty if it was not profiled."""
    roofline = node.roofline
    return floor_text(node, roofline) if roofline is not None else ""


def roofs_of(nodes: Sequence[NodeRecord]) -> dict[str, Any] | None:
    """The roofs of the device, from the first variant that knows them: `gb_per_s` of copying,
    `tflop_per_s` of the work's arithmetic, and others for comparison; `chart` is what is drawn."""
    for node in nodes:
        profile = node.evaluation.profile if node.evaluation else None
        ceilings = profile.hardware.ceilings if profile and profile.hardware else None
        roofline = node.roofline
        ridge = roofline.ridge_flop_per_byte if roofline else None
        if ceilings is not None:
            return _roofs(ceilings, ridge, _points(nodes))
    return None


def _points(nodes: Iterable[NodeRecord]) -> list[Point]:
    """The variants that have a place, each once."""
    found = [place_of(node) for node in nodes if node.kind != "duplicate"]
    return [
        Point(place.bound, place.intensity, place.rate)
        for place in found
        if place is not None and place.intensity and place.rate
    ]


def _roofs(ceilings: Ceilings, ridge: float | None, points: Sequence[Point]) -> dict[str, Any]:
    copy = ceilings.copy_gb_per_s
    peak = ridge * copy / 1e3 if ridge else None
    memory = Roof("copying", slope=copy / 1e3)
    compute = Roof("arithmetic", level=peak) if peak else None
    return {
        "gb_per_s": copy,
        "tflop_per_s": peak,
        "l2_gb_per_s": ceilings.l2_gb_per_s,
        "shared_gb_per_s": ceilings.shared_gb_per_s,
        "fp32_tflop_per_s": ceilings.fp32_tflop_per_s,
        "bf16_tflop_per_s": ceilings.bf16_tflop_per_s,
        "chart": asdict(SimpleChart.around(memory, compute, points)) if points else None,
    }


def _timing(node: NodeRecord) -> Timing | None:
    evaluation = node.evaluation
    return evaluation.timing if evaluation is not None and evaluation.measured else None
