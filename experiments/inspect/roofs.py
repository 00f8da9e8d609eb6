"""The roofline as geometry: roofs of the measured device, points of its kernels, log axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.inspect.results import Part
from mcts.domain import Ceilings, KernelProfile
from mcts.domain import metrics as m

_ROOM = 3.0
"""Factor of free space around what is drawn."""
_NEGLIGIBLE = 1.0
"""% of its peak below which a unit did nothing worth counting."""
_TENSOR_MATH = frozenset({"bf16", "fp16", "tf32"})


@dataclass(frozen=True, slots=True)
class Roof:
    """A ceiling: `slope` in TFLOP/s per FLOP/byte for memory, else `level` in TFLOP/s."""

    name: str
    slope: float | None = None
    level: float | None = None

    def at(self, intensity: float) -> float:
        """The rate it allows at `intensity`, TFLOP/s."""
        if self.level is not None:
            return self.level
        return (self.slope or 0.0) * intensity


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel: operations per byte, operations achieved in TFLOP/s, the compute roof above it."""

    name: str
    intensity: float
    rate: float
    roof: str = "fp32"


@dataclass(frozen=True, slots=True)
class Chart:
    """What a picture of the roofline shows; ranges are powers of ten, (low, high)."""

    memory: tuple[Roof, ...]
    compute: tuple[Roof, ...]
    points: tuple[Point, ...]
    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def summit(self) -> float:
        """The highest compute roof, infinite without one: where memory roofs end."""
        return max((roof.at(1.0) for roof in self.compute), default=math.inf)

    def limit_of(self, point: Point) -> float:
        """TFLOP/s that DRAM and the point's own arithmetic allow at its intensity."""
        own = [roof.at(1.0) for roof in self.compute if roof.name == point.roof]
        return min(self.memory[0].at(point.intensity), *(own or [self.summit]))

    def start_of(self, roof: Roof) -> float:
        """The intensity from which a compute roof can be reached, under the steepest memory."""
        steepest = max((each.slope or 0.0 for each in self.memory), default=0.0)
        return roof.at(1.0) / steepest if steepest else 10 ** self.x[0]


def chart_of(parts: Sequence[Part]) -> Chart | None:
    """The chart of all parts whose intensity and rate are known; None without points or roofs."""
    ceilings = next((c for part in parts if (c := _ceilings(part)) is not None), None)
    points = [point for part in parts if (point := _point(part)) is not None]
    if ceilings is None or not points:
        return None
    memory, compute = memory_roofs(ceilings), compute_roofs(ceilings)
    return Chart(memory, compute, tuple(points), *_ranges(memory, compute, points))


def why_no_chart(parts: Sequence[Part]) -> str:
    """What is missing for a chart, as the end of a sentence."""
    if all(_ceilings(part) is None for part in parts):
        return "no device was measured, so its ceilings are not known"
    if all(part.guidance.roofline is None for part in parts):
        return "no counters and no time, so no place under the roofline"
    return "the operations per byte are not known, or there are no operations"


def memory_roofs(ceilings: Ceilings) -> tuple[Roof, ...]:
    """Steepest last. DRAM is the copy rate, or the read rate where that is higher."""
    dram = max(ceilings.copy_gb_per_s, ceilings.read_gb_per_s or 0.0)
    rates = (("DRAM", dram), ("L2", ceilings.l2_gb_per_s), ("shared", ceilings.shared_gb_per_s))
    return tuple(Roof(name, slope=rate / 1e3) for name, rate in rates if rate)


def compute_roofs(ceilings: Ceilings) -> tuple[Roof, ...]:
    rates = (("fp32", ceilings.fp32_tflop_per_s), ("bf16", ceilings.bf16_tflop_per_s))
    return tuple(Roof(name, level=rate) for name, rate in rates if rate)


def _ceilings(part: Part) -> Ceilings | None:
    return part.profile.hardware.ceilings if part.profile.hardware else None


def _point(part: Part) -> Point | None:
    """By the least work of a call, else by what the counters saw."""
    roofline, kernel = part.guidance.roofline, part.kernel
    name = kernel.name if kernel else ""
    roof = "bf16" if _on_tensor_cores(part) else "fp32"
    if roofline and roofline.intensity_flop_per_byte and roofline.achieved_tflop_per_s:
        return Point(name, roofline.intensity_flop_per_byte, roofline.achieved_tflop_per_s, roof)
    return _counted(kernel) if kernel and part.work is None else None


def _counted(kernel: KernelProfile) -> Point | None:
    """fp32 operations that were executed, over the bytes that DRAM moved.

    None where one of them was not counted, and for kernels that compute on other units, whose
    operations no counter here tells.
    """
    names = (m.FFMA, m.FADD, m.FMUL, m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, m.DURATION)
    found = [value for name in names if (value := kernel.value(name)) is not None]
    elsewhere = max(kernel.value(m.TENSOR_PIPE) or 0.0, kernel.value(m.FP64_PIPE) or 0.0)
    if len(found) < len(names) or elsewhere >= _NEGLIGIBLE:
        return None
    ffma, fadd, fmul, read, written, nanoseconds = found
    flops, moved = 2 * ffma + fadd + fmul, read + written
    if min(flops, moved, nanoseconds) <= 0:
        return None
    return Point(f"{kernel.name} (as counted)", flops / moved, flops / nanoseconds / 1e3)


def _on_tensor_cores(part: Part) -> bool:
    if part.work is not None:
        return part.work.math in _TENSOR_MATH
    sass = part.kernel.sass if part.kernel else None
    return sass is not None and sass.tensor_ops > 0


def _ranges(
    memory: Iterable[Roof], compute: Iterable[Roof], points: Iterable[Point]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both axes with room around the points and the knees, in powers of ten."""
    points, memory, compute = list(points), list(memory), list(compute)
    knees = [top.at(1.0) / side.at(1.0) for top in compute for side in memory]
    x_low = min([point.intensity for point in points] + knees) / _ROOM
    x_high = max([point.intensity for point in points] + knees) * _ROOM
    tops = [top.at(1.0) for top in compute] or [memory[0].at(point.intensity) for point in points]
    y_high = max([point.rate for point in points] + tops) * _ROOM / 1.5
    slowest = min(side.at(x_low) for side in memory)
    y_low = min([point.rate / 1.5 for point in points] + [slowest])
    return (math.log10(x_low), math.log10(x_high)), (math.log10(y_low), math.log10(y_high))
