"""Where a kernel stands under its roofline, and which axis deserves the next change.

Two votes decide the class (KernelPro, two-stage invocation): what the task's cost says against the
measured ridge of this device, and what the counters say is busy. Agreement gives confidence.
Ceilings are probed on the device, never taken from a datasheet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mcts.domain import (
    Axis,
    AxisGap,
    BoundClass,
    Ceilings,
    Hardware,
    KernelTask,
    Metric,
    Roofline,
    evaluate_int,
)
from mcts.domain import metrics as m

BUSY = 60.0
"""% of its peak from which a unit counts as the limit (Nsight's own rule)."""
BALANCED = 10.0
"""Points between compute and memory below which neither is the limit alone."""
SMALL_GAP = 0.15
NEAR_PEAK_TIME = 1.1
"""Times the speed of light within which nothing is left that a search could tell from noise."""
STOP = 95.0
LAUNCH_SHARE = 0.2
DRAM_SHARE = 0.7
"""Every DRAM byte passes L2, so L2 reads high too: DRAM is the limit from this share of it on."""
SLOTS = 3
SLOTS_PER_AXIS = 2
_AXES: tuple[Axis, ...] = ("compute", "memory", "latency")


@dataclass(frozen=True, slots=True)
class _Work:
    """The least the task must do, in microseconds at this device's ceilings; None: unknown."""

    bytes: int | None = None
    flops: int | None = None
    memory_us: float | None = None
    compute_us: float | None = None
    intensity: float | None = None
    ridge: float | None = None

    @property
    def floor_us(self) -> float | None:
        known = [time for time in (self.memory_us, self.compute_us) if time]
        return max(known) if known else None

    @property
    def vote(self) -> BoundClass:
        if self.intensity is None or self.ridge is None:
            return "unknown"
        return "compute" if self.intensity > self.ridge else "memory"


@dataclass(frozen=True, slots=True)
class _Busy:
    """Measured utilisation in % of peak; None where not measured."""

    sm: float | None
    dram: float | None
    levels: dict[str, float]
    issue: float | None

    @property
    def memory(self) -> float | None:
        """How busy the busiest memory level is."""
        return max(self.levels.values(), default=None)

    @property
    def level(self) -> str:
        """The memory level that limits: the busiest, or DRAM where L2 is only busy serving it."""
        busiest = max(self.levels, key=lambda name: self.levels[name])
        if self.dram is not None and self.dram >= DRAM_SHARE * self.levels[busiest]:
            return "DRAM"
        return busiest

    @property
    def top(self) -> float | None:
        known = [value for value in (self.sm, *self.levels.values()) if value is not None]
        if self.issue is not None:
            known.append(100 * self.issue)
        return min(100.0, max(known)) if known else None


def speed_of_light_us(
    task: KernelTask, shape: Mapping[str, int], ceilings: Ceilings | None
) -> float | None:
    """Least time in microseconds any implementation can take; None where nothing bounds it.

    The greater of the least bytes over the measured copy bandwidth and the least operations over
    the measured rate of the unit (Williams, Waterman, Patterson 2009). Only fp32 has a probe.
    """
    return _work(task, shape, ceilings).floor_us


def _work(task: KernelTask, shape: Mapping[str, int], ceilings: Ceilings | None) -> _Work:
    if task.cost is None:
        return _Work()
    bytes_moved = evaluate_int(task.cost.bytes, shape)
    flops = evaluate_int(task.cost.flops, shape)
    intensity = flops / bytes_moved if bytes_moved else None
    if ceilings is None:
        return _Work(bytes_moved, flops, intensity=intensity)
    rate = ceilings.fp32_tflop_per_s if task.cost.math == "fp32" else None
    return _Work(
        bytes_moved,
        flops,
        memory_us=bytes_moved / (ceilings.copy_gb_per_s * 1e3),
        compute_us=None if rate is None else flops / (rate * 1e6),
        intensity=intensity,
        ridge=None if rate is None else rate * 1e3 / ceilings.copy_gb_per_s,
    )


def classify(
    *,
    task: KernelTask,
    shape: Mapping[str, int],
    metrics: Mapping[str, Metric],
    hardware: Hardware,
    time_us: float,
) -> Roofline:
    """Place a kernel: class, confidence, gaps, near-peak, method budget.

    `metrics` are the dominant kernel's counters, by Nsight name; `time_us` is the candidate's
    time per call. Gaps prefer useful work: a kernel that keeps DRAM 95 % busy with twice the bytes
    it needs has half its way to go. Where the task's cost or the ceiling is unknown, the
    counters' utilisation stands in. The latency gap is what no unit used.

    `near_peak` closes a node of the search, so it asks for more than three small gaps on paper
    (a kernel at the DRAM roof always has a large compute gap): the time is within 1.1 times the
    speed of light; or every gap is below 0.15; or, where the speed of light is unknown, DRAM is at
    least 95 % busy. A busy multiprocessor alone never counts: it may be busy with overhead.
    """
    work = _work(task, shape, hardware.ceilings)
    busy = _read(metrics)
    gap = _gap(work, busy, time_us)
    bound, confidence, reason = _vote(work, busy, hardware.ceilings, time_us)
    return Roofline(
        bound=bound,
        confidence=confidence,
        gap=gap,
        near_peak=_near_peak(work, busy, gap, time_us),
        method_budget=axis_budget(_relevant(gap, work, busy)),
        intensity_flop_per_byte=work.intensity,
        ridge_flop_per_byte=work.ridge,
        speed_of_light_us=work.floor_us,
        reason=reason + _traffic(metrics, work),
    )


def _read(metrics: Mapping[str, Metric]) -> _Busy:
    def value(name: str) -> float | None:
        found = metrics.get(name)
        return None if found is None else found.value

    named = {"DRAM": value(m.DRAM), "L2": value(m.L2), "L1": value(m.L1)}
    levels = {name: busy for name, busy in named.items() if busy is not None}
    busiest = value(m.MEMORY)
    if not levels and busiest is not None:
        levels = {"memory": busiest}
    return _Busy(value(m.SM), value(m.DRAM), levels, value(m.ISSUE))


def _gap(work: _Work, busy: _Busy, time_us: float) -> AxisGap:
    def gap(useful_us: float | None, percent: float | None) -> float:
        if useful_us:
            return _clip(1 - useful_us / time_us)
        return 1.0 if percent is None else _clip(1 - percent / 100)

    used = busy.top
    if used is None and work.floor_us:
        used = 100 * work.floor_us / time_us
    return AxisGap(
        compute=gap(work.compute_us, busy.sm),
        memory=gap(work.memory_us, busy.dram),
        latency=gap(None, used),
    )


def _vote(
    work: _Work, busy: _Busy, ceilings: Ceilings | None, time_us: float
) -> tuple[BoundClass, float, str]:
    """Class, confidence and one sentence that says why."""
    if ceilings and ceilings.launch_us and ceilings.launch_us > LAUNCH_SHARE * time_us:
        share = ceilings.launch_us / time_us
        return "launch", 0.9, f"An empty launch alone takes {share:.0%} of the time."
    measured, reason = _measured(busy)
    if measured == "unknown":
        return _from_task(work, time_us)
    if measured in ("latency", "mixed") or work.vote == "unknown":
        return measured, 0.7, reason
    if measured == work.vote:
        return measured, 0.9, f"{reason} The task's intensity says the same."
    says = f"The task's {work.intensity:.3g} flop/byte would make it {work.vote}-bound"
    return measured, 0.5, f"{reason} {says} (ridge {work.ridge:.3g}): this limit can be lifted."


def _measured(busy: _Busy) -> tuple[BoundClass, str]:
    if busy.sm is None or busy.memory is None:
        return "unknown", ""
    level, memory = busy.level, busy.memory
    percent = ", ".join(f"{name} {value:.1f} %" for name, value in busy.levels.items())
    seen = f"SM {busy.sm:.1f} %, {percent} of peak"
    if max(busy.sm, memory) < BUSY:
        return "latency", f"No unit is busy: {seen}."
    if min(busy.sm, memory) >= BUSY and abs(busy.sm - memory) < BALANCED:
        return "mixed", f"Compute and memory are both busy: {seen}."
    if busy.sm > memory:
        return "compute", f"The multiprocessors are busiest: {seen}."
    return "memory", f"{level} is the limit: {seen}."


def _from_task(work: _Work, time_us: float) -> tuple[BoundClass, float, str]:
    """The task's vote alone: believed only where the time comes near what it predicts."""
    if work.vote == "unknown" or not work.floor_us:
        return "unknown", 0.0, "Nothing was measured that tells what limits it."
    share = work.floor_us / time_us
    reason = f"No counters; the time is {time_us / work.floor_us:.2f} times the speed of light."
    return (work.vote, 0.4, reason) if share >= BUSY / 100 else ("unknown", 0.2, reason)


def _traffic(metrics: Mapping[str, Metric], work: _Work) -> str:
    read, written = metrics.get(m.DRAM_READ_BYTES), metrics.get(m.DRAM_WRITE_BYTES)
    if read is None or written is None or not work.bytes:
        return ""
    ratio = (read.value + written.value) / work.bytes
    return f" The kernel's DRAM traffic is {ratio:.2f} times the task's least."


def _near_peak(work: _Work, busy: _Busy, gap: AxisGap, time_us: float) -> bool:
    if max(gap.compute, gap.memory, gap.latency) < SMALL_GAP:
        return True
    if work.floor_us and work.compute_us is not None:
        return time_us <= NEAR_PEAK_TIME * work.floor_us
    return busy.dram is not None and busy.dram >= STOP


def _relevant(gap: AxisGap, work: _Work, busy: _Busy) -> AxisGap:
    """Gaps weighted by how much the axis can matter for this task on this device.

    At the roof, a task of intensity I uses I / ridge of compute and ridge / I of memory bandwidth;
    a unit that is measured busy matters whatever the task says, from 40 % on, fully at 80 %.
    """
    ratio = None
    if work.intensity is not None and work.ridge:
        ratio = work.intensity / work.ridge
    compute_weight = _weight(None if ratio is None else min(1.0, ratio), busy.sm)
    memory_weight = _weight(
        None if ratio is None else min(1.0, 1 / ratio) if ratio else 1.0,
        busy.memory,
    )
    return AxisGap(
        compute=gap.compute * compute_weight,
        memory=gap.memory * memory_weight,
        latency=gap.latency,
    )


def _weight(from_task: float | None, percent: float | None) -> float:
    known = [weight for weight in (from_task,) if weight is not None]
    if percent is not None:
        known.append(_clip((percent - 40) / 40))
    return max(known) if known else 1.0


def axis_budget(gap: AxisGap) -> dict[Axis, int]:
    """Share three method slots over the axes, at most two each, in proportion to the gaps.

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


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
