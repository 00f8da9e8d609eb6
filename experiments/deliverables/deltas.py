"""What the hardware did before and after: counters of two profiles, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mcts.domain import KernelProfile, Profile
from mcts.domain import metrics as m

Reading = Callable[[Profile], float | None]
_LEAST = {"": 0.1, "MB": 0.1, "%": 2.0, "cycles": 1.0}
"""A change is worth a row from here on: a share of an amount, points of a percentage, cycles."""
_WEIGHT = {"": 1.0, "MB": 1.0, "%": 1 / 25, "cycles": 1 / 8}
"""What a doubling, 25 points and 8 cycles have in common: each counts 1."""
_MOST_DOUBLINGS = 8.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that a profile tells of a call, with its unit."""

    name: str
    unit: str
    read: Reading


@dataclass(frozen=True, slots=True)
class Delta:
    """A quantity of two profiles."""

    name: str
    unit: str
    before: float
    after: float

    @property
    def size(self) -> float:
        """How large the change is, comparable between quantities."""
        if self.unit in ("%", "cycles"):
            return _WEIGHT[self.unit] * abs(self.after - self.before)
        low, high = sorted((self.before, self.after))
        if high <= 0:
            return 0.0
        return min(_MOST_DOUBLINGS, math.log2(high / low)) if low > 0 else _MOST_DOUBLINGS

    @property
    def notable(self) -> bool:
        apart, most = abs(self.after - self.before), max(abs(self.before), abs(self.after))
        if self.unit in ("%", "cycles"):
            return apart >= _LEAST[self.unit]
        return apart > _LEAST[self.unit] * most

    @property
    def change(self) -> str:
        """``−52 %``, ``×5.1``; points of a percentage; nothing for what began at zero."""
        apart = self.after - self.before
        if self.unit == "%":
            return f"{apart:+.1f} points".replace("-", "−")
        if self.before <= 0:
            return ""
        ratio = self.after / self.before
        if ratio >= 2:
            return f"×{ratio:.3g}"
        return f"{100 * (ratio - 1):+.0f} %".replace("-", "−")

    @property
    def ends(self) -> tuple[str, str]:
        """Both values with their unit."""
        return _shown(self.before, self.unit), _shown(self.after, self.unit)


def deltas(before: Profile | None, after: Profile | None) -> list[Delta]:
    """What changed notably, as ordered in the table; only what both have."""
    if before is None or after is None:
        return []
    found = []
    for quantity in QUANTITIES:
        first, second = quantity.read(before), quantity.read(after)
        if first is None or second is None:
            continue
        delta = Delta(quantity.name, quantity.unit, first, second)
        if delta.notable:
            found.append(delta)
    return found


def _total(*metrics: str, scale: float = 1.0) -> Reading:
    """The sum of counters over all kernels of a call; None if one was not measured."""

    def read(profile: Profile) -> float | None:
        values = [
            (kernel.value(metric), kernel.launches)
            for kernel in profile.kernels
            for metric in metrics
        ]
        known = [value * launches for value, launches in values if value is not None]
        return scale * sum(known) if values and len(known) == len(values) else None

    return read


def _share(part: Sequence[str], whole: Sequence[str]) -> Reading:
    """Some counters over others in percent, both summed over the call; 0 of 0 is 0."""

    def read(profile: Profile) -> float | None:
        above, below = _total(*part)(profile), _total(*whole)(profile)
        if above is None or below is None:
            return None
        return 100 * above / below if below else 0.0

    return read


def _dominant(metric: str, scale: float = 1.0) -> Reading:
    """A counter of the kernel that takes longest."""

    def read(profile: Profile) -> float | None:
        kernel: KernelProfile | None = profile.dominant
        value = kernel.value(metric) if kernel else None
        return None if value is None else scale * value

    return read


def _launches(profile: Profile) -> float | None:
    return float(sum(kernel.launches for kernel in profile.kernels)) or None


QUANTITIES: Sequence[Quantity] = (
    Quantity("kernel launches per call", "", _launches),
    Quantity("DRAM traffic", "MB", _total(m.DRAM_READ_BYTES, m.DRAM_WRITE_BYTES, scale=1e-6)),
    Quantity("L2 traffic", "MB", _total(m.L2_SECTORS, scale=m.SECTOR_BYTES * 1e-6)),
    Quantity(
        "global accesses, in sectors", "MB",
        _total(m.LOAD_SECTORS, m.STORE_SECTORS, scale=m.SECTOR_BYTES * 1e-6),
    ),
    Quantity("spills to local memory", "", _total(m.LOCAL_LOADS, m.LOCAL_STORES)),
    Quantity(
        "shared memory wavefronts lost to conflicts", "%",
        _share(
            (m.BANK_CONFLICTS_LOAD, m.BANK_CONFLICTS_STORE),
            (m.SHARED_WAVEFRONTS_LOAD, m.SHARED_WAVEFRONTS_STORE),
        ),
    ),
    Quantity("warp instructions", "", _total(m.INSTRUCTIONS)),
    Quantity("DRAM throughput of the datasheet's peak", "%", _dominant(m.DRAM)),
    Quantity("issue slots used", "%", _dominant(m.ISSUE, 100.0)),
    Quantity("FMA pipe busy", "%", _dominant(m.FMA_PIPE)),
    Quantity("tensor pipe busy", "%", _dominant(m.TENSOR_PIPE)),
    Quantity("achieved occupancy", "%", _dominant(m.ACHIEVED_OCCUPANCY)),
    Quantity("waves of blocks", "", _dominant(m.WAVES)),
    Quantity("registers per thread", "", _dominant(m.REGISTERS)),
    Quantity("L1 hits", "%", _dominant(m.L1_HIT)),
    Quantity("L2 hits", "%", _dominant(m.L2_HIT)),
    Quantity("stalls on global memory", "cycles", _dominant(m.STALL_LONG_SCOREBOARD)),
    Quantity("stalls on shared memory", "cycles", _dominant(m.STALL_SHORT_SCOREBOARD)),
    Quantity("stalls at barriers", "cycles", _dominant(m.STALL_BARRIER)),
)  # fmt: skip
"""Stalls are cycles per issued instruction, as Nsight's warp-state figures are."""


def largest(found: Sequence[Delta], count: int) -> Iterator[Delta]:
    """The most notable ones, largest first."""
    yield from sorted(found, key=lambda delta: -delta.size)[:count]


def _shown(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}" if unit else text
