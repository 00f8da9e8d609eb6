"""How far a call is from its ceilings, and how many changes each axis deserves next."""

from __future__ import annotations

import math

from mcts.domain import Axis, AxisGap
from profilers.roofline.floors import Floor

SMALL_GAP = 0.15
"""A gap below which an axis has little left to gain."""
NEAR_PEAK_TIME = 1.1
"""Multiple of the speed of light within which a search cannot tell gains from noise."""
BEATEN = 1.05
"""Multiple of the measured ceilings that noise, or reading alone, explains."""
DRAM_SATURATED = 95.0
"""% of peak from which DRAM is as busy as it gets."""
SLOTS = 3
SLOTS_PER_AXIS = 2
_AXES: tuple[Axis, ...] = ("compute", "memory", "latency")
_WEIGHT_FROM, _WEIGHT_FULL = 40.0, 80.0


def axis_gaps(
    floor: Floor,
    time_us: float | None,
    *,
    compute: float | None,
    dram: float | None,
    busiest: float | None,
) -> AxisGap:
    """Gaps in [0, 1]; `compute`, `dram` and `busiest` (the busiest unit) are measured in % of peak.

    Useful work is preferred to utilisation: a kernel that keeps DRAM 95 % busy with twice the bytes
    it needs has a gap of one half. Utilisation is used if the floor is unknown. The latency gap is
    what even the busiest unit left unused.
    """
    if busiest is None and floor.us and time_us:
        busiest = 100 * floor.us / time_us
    return AxisGap(
        compute=_gap(floor.compute_us, time_us, compute),
        memory=_gap(floor.memory_us, time_us, dram),
        latency=_gap(None, time_us, busiest),
    )


def near_peak(gap: AxisGap, floor: Floor, time_us: float | None, *, dram: float | None) -> bool:
    """Whether little is left to gain, which closes a node of the search.

    A kernel at the DRAM roof always has a large compute gap, so small gaps are only one criterion:
    the time is within 1.1 times the speed of light; or every gap is small; or, if the speed of
    light is unknown, DRAM is at least 95 % busy. A busy multiprocessor alone never counts: it may
    be busy with overhead.
    """
    if max(gap.compute, gap.memory, gap.latency) < SMALL_GAP:
        return True
    if floor.us and floor.compute_us is not None and time_us is not None:
        return time_us <= NEAR_PEAK_TIME * floor.us
    return dram is not None and dram >= DRAM_SATURATED


def beaten(floor: Floor, time_us: float | None) -> float | None:
    """How many times as fast as the least work would allow; None unless that is clearly more.

    The least work of a task knows no algebra: a sum taken before a product, a filter in another
    basis, or a step that the output does not depend on make it smaller.
    """
    if not floor.us or not time_us or floor.us <= BEATEN * time_us:
        return None
    return floor.us / time_us


def relevant(gap: AxisGap, floor: Floor, *, compute: float | None, memory: float | None) -> AxisGap:
    """Gaps weighted by how much the axis can matter for this work on this device.

    At the roof, work of intensity I uses I / ridge of compute and ridge / I of memory bandwidth.
    Independently of the work, a unit that is measured busy matters from 40 % on, fully at 80 %.
    """
    ratio = None
    if floor.intensity is not None and floor.ridge:
        ratio = floor.intensity / floor.ridge
    of_memory = None if ratio is None else min(1.0, 1 / ratio) if ratio else 1.0
    return AxisGap(
        compute=gap.compute * _weight(None if ratio is None else min(1.0, ratio), compute),
        memory=gap.memory * _weight(of_memory, memory),
        latency=gap.latency,
    )


def axis_budget(gap: AxisGap) -> dict[Axis, int]:
    """Distribute three method slots over the axes, at most two each, in proportion to the gaps.

    Widest gap first, every axis gets its share rounded up while slots last, so that the widest is
    never starved by rounding: 0.92 / 0.57 / 0.61 gives 2 / 0 / 1, equal gaps one each. An axis
    without a gap gets none. (cuda-optimized-skill V2, section 1.2.)
    """
    gaps = {axis: float(getattr(gap, axis)) for axis in _AXES}
    budget: dict[Axis, int] = dict.fromkeys(_AXES, 0)
    total = sum(gaps.values())
    left = SLOTS
    for axis in sorted(_AXES, key=lambda name: -gaps[name]):
        if gaps[axis] <= 0:
            continue
        share = max(1, math.ceil(SLOTS * gaps[axis] / total - 1e-9))
        budget[axis] = min(share, SLOTS_PER_AXIS, left)
        left -= budget[axis]
    return budget


def _gap(useful_us: float | None, time_us: float | None, percent: float | None) -> float:
    if useful_us and time_us:
        return _clip(1 - useful_us / time_us)
    return 1.0 if percent is None else _clip(1 - percent / 100)


def _weight(from_work: float | None, percent: float | None) -> float:
    known = [] if from_work is None else [from_work]
    if percent is not None:
        known.append(_clip((percent - _WEIGHT_FROM) / (_WEIGHT_FULL - _WEIGHT_FROM)))
    return max(known) if known else 1.0


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
