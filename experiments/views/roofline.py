"""The roofline as geometry: where roofs and points lie on two logarithmic axes.

The terminal, the picture of an inspection and the report draw what is computed here. Williams,
Waterman, Patterson, "Roofline", CACM 52 (2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mcts.domain import Ceilings

_ROOM = 3.0
"""Factor of free space around what is drawn."""


@dataclass(frozen=True, slots=True)
class LogAxis:
    """From `low` to `high`, both powers of ten (2.0 is 100)."""

    low: float
    high: float

    @classmethod
    def between(cls, least: float, greatest: float) -> LogAxis:
        return cls(math.log10(least), math.log10(greatest))

    def share(self, power: float) -> float:
        """Where a power of ten lies: 0 at the low end, 1 at the high end, beyond them outside."""
        return (power - self.low) / (self.high - self.low)

    def powers(self) -> range:
        """The whole powers of ten on it."""
        return range(math.ceil(self.low), math.floor(self.high) + 1)

    @property
    def ends(self) -> tuple[float, float]:
        """The values at its ends."""
        return 10**self.low, 10**self.high


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
    """Roofs and points with the axes that hold them: FLOP per byte and TFLOP/s."""

    memory: tuple[Roof, ...]
    compute: tuple[Roof, ...]
    points: tuple[Point, ...]
    x: LogAxis
    y: LogAxis

    @classmethod
    def around(
        cls, memory: Sequence[Roof], compute: Sequence[Roof], points: Sequence[Point]
    ) -> Chart:
        """With room around the points and the knees of the roofs."""
        knees = [top.at(1.0) / side.at(1.0) for top in compute for side in memory]
        x_low = min([point.intensity for point in points] + knees) / _ROOM
        x_high = max([point.intensity for point in points] + knees) * _ROOM
        tops = [top.at(1.0) for top in compute] or [
            memory[0].at(point.intensity) for point in points
        ]
        y_high = max([point.rate for point in points] + tops) * _ROOM / 1.5
        slowest = min(side.at(x_low) for side in memory)
        y_low = min([point.rate / 1.5 for point in points] + [slowest])
        return cls(
            tuple(memory),
            tuple(compute),
            tuple(points),
            LogAxis.between(x_low, x_high),
            LogAxis.between(y_low, y_high),
        )

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
        return roof.at(1.0) / steepest if steepest else self.x.ends[0]

    def span_of(self, roof: Roof) -> tuple[float, float] | None:
        """The intensities between which a memory roof is drawn: from the left or lower edge up to
        the highest compute roof; None if it lies outside."""
        slope = roof.at(1.0)
        begin = max(self.x.ends[0], self.y.ends[0] / slope)
        end = min(self.x.ends[1], self.summit / slope, self.y.ends[1] / slope)
        return (begin, end) if begin < end else None


@dataclass(frozen=True, slots=True)
class SimpleChart:
    """One memory roof and one compute roof, as the report draws them: the values at the ends of the
    axes, and the corners of the roof from left to right."""

    x: tuple[float, float]
    y: tuple[float, float]
    roof: tuple[tuple[float, float], ...]

    @classmethod
    def around(cls, memory: Roof, compute: Roof | None, points: Sequence[Point]) -> SimpleChart:
        """With room around the points and the knee. Without a compute roof the other has no end."""
        intensities = [point.intensity for point in points]
        rates = [point.rate for point in points]
        knee = compute.at(1.0) / memory.at(1.0) if compute else 0.0
        left, right = min(intensities) / 2, max(max(intensities) * 3, knee * 1.7)
        corner = knee or right
        peak = memory.at(corner)
        corners = [(left, memory.at(left)), (corner, peak), *([(right, peak)] if compute else [])]
        lowest, highest = min(*rates, memory.at(left)), max(*rates, peak)
        return cls((left, right), (lowest / 2, highest * 2), tuple(corners))


def memory_roofs(ceilings: Ceilings) -> tuple[Roof, ...]:
    """Steepest last. DRAM is the copy rate, or the read rate where that is higher."""
    dram = max(ceilings.copy_gb_per_s, ceilings.read_gb_per_s or 0.0)
    rates = (("DRAM", dram), ("L2", ceilings.l2_gb_per_s), ("shared", ceilings.shared_gb_per_s))
    return tuple(Roof(name, slope=rate / 1e3) for name, rate in rates if rate)


def compute_roofs(ceilings: Ceilings) -> tuple[Roof, ...]:
    rates = (("fp32", ceilings.fp32_tflop_per_s), ("bf16", ceilings.bf16_tflop_per_s))
    return tuple(Roof(name, level=rate) for name, rate in rates if rate)
