"""The roofline class of a call: what limits it, at which level of memory, with what confidence.

Two votes decide the class (KernelPro, two-stage invocation): what the counters say is busy, and
what the work's intensity says against the measured ridge of this device. Agreement gives
confidence. Ceilings are measured on the device, never taken from a datasheet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mcts.domain import BoundClass, KernelProfile, Profile, Roofline, Work
from profilers.roofline import bounds
from profilers.roofline.bounds import Verdict
from profilers.roofline.floors import Floor
from profilers.roofline.gaps import axis_budget, axis_gaps, beaten, near_peak, relevant
from profilers.roofline.utilisation import Utilisation, utilisation

__all__ = ["axis_budget", "classify"]


def classify(*, work: Work | None, profile: Profile, time_us: float | None) -> Roofline | None:
    """Classify one call: class, memory level, confidence, gaps, near-peak, method budget.

    `time_us` is the time per call; without it the timeline's time is used, or else the profiler's
    own durations. Ceilings are those of `profile.hardware`. If there are several kernels, each is
    classified by its own counters, and the class with most of the time is that of the call. Returns
    None if there is neither a time nor a counter.
    """
    ceilings = profile.hardware.ceilings if profile.hardware else None
    kernels = _kernels(profile)
    time_us = time_us or _time_us(profile)
    if time_us is None and not kernels:
        return None
    estimate = Floor.of(work, ceilings)
    beaten_by = beaten(estimate, time_us)
    floor, work = (estimate, work) if beaten_by is None else (Floor(), None)
    launch_us = ceilings.launch_us if ceilings else None
    # Launches of many kernels overlap with their work: then the gaps tell, not the times.
    told = bounds.idle_share(profile.timeline) is not None
    each_us = None if told else _time_per_kernel(profile, time_us)
    found = (
        bounds.from_launches(each_us, launch_us)
        or bounds.from_timeline(profile.timeline)
        or bounds.from_waiting(profile.timeline)
        or _from_kernels(kernels, floor)
        or bounds.from_work(floor, time_us)
    )
    used = _mean(kernels, profile)
    gap = axis_gaps(floor, time_us, compute=used.compute, dram=used.dram, busiest=used.busiest)
    return Roofline(
        bound=found.bound,
        level=found.level,
        confidence=round(found.confidence, 2),
        gap=gap,
        near_peak=near_peak(gap, floor, time_us, dram=used.dram),
        method_budget=axis_budget(relevant(gap, floor, compute=used.compute, memory=used.memory)),
        intensity_flop_per_byte=floor.intensity,
        ridge_flop_per_byte=estimate.ridge,
        speed_of_light_us=estimate.us,
        beaten_by=beaten_by,
        achieved_tflop_per_s=_rate(work.flops / 1e6, time_us) if work else None,
        achieved_gb_per_s=_rate(work.bytes / 1e3, time_us) if work else None,
        reason=found.reason + _traffic(profile, work),
    )


@dataclass(frozen=True, slots=True)
class _CountedKernel:
    """A kernel with counters, and its share of the time of all such kernels."""

    kernel: KernelProfile
    used: Utilisation
    share: float


@dataclass(frozen=True, slots=True)
class _MeanUtilisation:
    """Utilisation over the whole call, in % of peak; None if no kernel has it."""

    compute: float | None
    memory: float | None
    dram: float | None
    busiest: float | None


def _kernels(profile: Profile) -> list[_CountedKernel]:
    """The kernels with counters, longest first; only the dominant one if times are unknown.

    Where none has counters, those that were timed.
    """
    timed = [kernel for kernel in profile.kernels if kernel.metrics]
    counted = [kernel for kernel in timed if kernel.is_counted] or timed
    known = [time for kernel in counted if (time := kernel.total_us)]
    if len(known) < len(counted):
        dominant = Profile(kernels=tuple(counted)).dominant
        counted, known = ([dominant], [1.0]) if dominant else ([], [])
    total = sum(known)
    seen = [
        _CountedKernel(kernel, utilisation(kernel, profile.hardware), time / total)
        for kernel, time in zip(counted, known, strict=True)
    ]
    return sorted(seen, key=lambda item: -item.share)


def _from_kernels(kernels: list[_CountedKernel], floor: Floor) -> Verdict | None:
    """The class with most of the time, with the level and the reason of its longest kernel."""
    judged = [(seen, found) for seen in kernels if (found := bounds.from_counters(seen.used))]
    if not judged:
        return None
    time_in: dict[BoundClass, float] = {}
    for seen, found in judged:
        time_in[found.bound] = time_in.get(found.bound, 0.0) + seen.share
    bound = max(time_in, key=lambda name: time_in[name])
    seen, found = next(item for item in judged if item[1].bound == bound)
    confidence, more = bounds.against_work(found, floor)
    if len(kernels) == 1:
        return replace(found, confidence=confidence, reason=found.reason + more)
    share = time_in[bound]
    reason = f"{seen.kernel.name} ({seen.share:.0%} of the kernels' time): {found.reason}{more}"
    if share < 1:
        reason += f" {share:.0%} of the time is spent in kernels of this class."
    return replace(found, confidence=confidence * (0.5 + share / 2), reason=reason)


def _mean(kernels: list[_CountedKernel], profile: Profile) -> _MeanUtilisation:
    """Averages over the call, weighted by time, with idle time if a timeline is known."""
    busy_share = 1 - (bounds.idle_share(profile.timeline) or 0.0)

    def mean(read: Callable[[Utilisation], float | None]) -> float | None:
        known = [(item.share, busy) for item in kernels if (busy := read(item.used)) is not None]
        weight = sum(share for share, _ in known)
        if not weight:
            return None
        return busy_share * sum(share * busy for share, busy in known) / weight

    return _MeanUtilisation(
        compute=mean(lambda used: used.compute),
        memory=mean(lambda used: used.memory),
        dram=mean(lambda used: used.dram),
        busiest=mean(lambda used: used.busiest),
    )


def _time_us(profile: Profile) -> float | None:
    """Time per call by the timeline, or by the profiler, which runs kernels one by one and cold."""
    timeline = profile.timeline
    if timeline is not None and timeline.span_us > timeline.first_use_us:
        return (timeline.span_us - timeline.first_use_us) / timeline.calls
    times = [kernel.total_us for kernel in profile.kernels]
    known = [time for time in times if time]
    return sum(known) if known and len(known) == len(times) else None


def _time_per_kernel(profile: Profile, time_us: float | None) -> float | None:
    launches: float = sum(kernel.launches for kernel in profile.kernels)
    if profile.timeline is not None:
        launches = max(launches, profile.timeline.kernels / profile.timeline.calls)
    return None if time_us is None else time_us / max(1.0, launches)


def _rate(amount: float, time_us: float | None) -> float | None:
    return amount / time_us if amount and time_us else None


def _traffic(profile: Profile, work: Work | None) -> str:
    """The DRAM traffic of all kernels, relative to what the work needs, as a sentence."""
    moved = profile.dram_bytes
    if not work or not work.bytes or moved is None:
        return ""
    return f" Its DRAM traffic is {moved / work.bytes:.2f} times the least."
