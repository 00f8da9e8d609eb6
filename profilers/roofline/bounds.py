"""The rules that decide what limits a call: launching, a busy unit, or the work itself.

Every threshold has a name here, so that a study can vary it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcts.domain import BoundClass, MemoryLevel, TimelineFacts
from profilers.roofline.floors import Floor
from profilers.roofline.utilisation import Utilisation

BUSY = 60.0
"""% of its peak from which a unit counts as the limit (Nsight's own rule)."""
BALANCED = 10.0
"""Difference of compute and memory, in points, below which neither is the limit alone."""
DRAM_SLACK = 10.0
"""Points by which a cache must exceed DRAM to be named as the limiting level: a copy reaches some
86 % of DRAM's peak, while the path through L1 reaches its own."""
SMALL_GRID_SHARE = 0.9
"""Share of the multiprocessors with a block below which a grid counts as small."""
NARROW_MARGIN = 5.0
"""Distance to a class boundary, in points, below which a decision is uncertain."""
LAUNCH_SHARE = 0.2
"""Share of the time from which launching counts as the limit."""
IDLE_SHARE = 0.3
"""Share of a timeline with an idle device from which launching, or whatever else delays the host,
counts as the limit; `LAUNCH_SHARE` is enough if most kernels are short."""
SHORT_US = 10.0
"""Time per kernel below which it is launch-bound, if the cost of a launch is unknown."""
RUNNING_SHARE = 0.25
"""Share of a program's time on the device below which its kernels are not the limit."""
FEWEST_KERNELS = 10
"""Number of kernels from which on the gaps of a timeline are more than start and end."""
NEAR_FLOOR = 0.6
"""Share of the time that the work's floor must reach to be believed without counters."""
AGREED, COUNTERS_ONLY, DISPUTED = 0.9, 0.7, 0.5
"""Confidence if counters and work agree, if there are only counters, if they disagree."""
UNCERTAINTY = 0.2
"""What is subtracted from the confidence for a narrow decision or missing counters."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A class, the sentence that says why, and the memory level if memory limits."""

    bound: BoundClass
    confidence: float
    reason: str
    level: MemoryLevel | None = None


def from_launches(each_us: float | None, launch_us: float | None) -> Verdict | None:
    """Launch-bound by time: `each_us` is the time per kernel, `launch_us` that of an empty one."""
    if not each_us:
        return None
    if launch_us is None:
        if each_us >= SHORT_US:
            return None
        text = f"A kernel takes {each_us:.1f} us, not much more than it takes to launch one."
        return Verdict("launch", AGREED - UNCERTAINTY, text)
    if launch_us <= LAUNCH_SHARE * each_us:
        return None
    share = min(1.0, launch_us / each_us)
    text = f"An empty launch alone takes {share:.0%} of the time per kernel ({each_us:.1f} us)."
    return Verdict("launch", AGREED, text)


def idle_share(timeline: TimelineFacts | None) -> float | None:
    """Share of the time in which the device waits for work; None if the timeline does not tell.

    The gaps of a few kernels, or of one kernel called again and again, are those of the program
    around them.
    """
    if timeline is None or timeline.kernels < FEWEST_KERNELS or timeline.kernels <= timeline.calls:
        return None
    return timeline.idle_share


def from_waiting(timeline: TimelineFacts | None) -> Verdict | None:
    """A program whose kernels run for a small part of its time on the device: the host limits."""
    if timeline is None or timeline.calls > 1 or not timeline.kernels:
        return None
    span_us = timeline.span_us - timeline.first_use_us
    if span_us <= 0 or timeline.busy_us >= RUNNING_SHARE * span_us:
        return None
    text = f"Kernels run for {timeline.busy_us / span_us:.0%} of the program's time on the device"
    if timeline.copy_us:
        text += f", copies for {min(1.0, timeline.copy_us / span_us):.0%}"
    return Verdict("launch", AGREED, f"{text}: the host is the limit.")


def from_timeline(timeline: TimelineFacts | None) -> Verdict | None:
    """Launch-bound by gaps: the device waits for work between the kernels."""
    idle = idle_share(timeline)
    if timeline is None or idle is None:
        return None
    mostly_short = 2 * timeline.short_kernels > timeline.kernels
    if idle <= (LAUNCH_SHARE if mostly_short else IDLE_SHARE):
        return None
    text = f"Between {timeline.kernels} kernels the device does nothing for {idle:.0%} of the time"
    kernel_us, gap_us = timeline.median_kernel_us, timeline.median_gap_us
    if kernel_us is not None and gap_us is not None:
        text += f" (medians: kernel {kernel_us:.1f} us, gap {gap_us:.1f} us)"
    return Verdict("launch", AGREED, f"{text}.")


def from_counters(used: Utilisation) -> Verdict | None:
    """The class by one kernel's counters; None if they do not tell.

    If compute or memory was not measured, the other one is only believed when it is busy.
    """
    if used.compute is None or used.memory is None:
        busiest = used.busiest
        if busiest is None or busiest < BUSY:
            return None
    compute, memory = used.compute or 0.0, used.memory or 0.0
    bound, margin, text = _weigh(compute, memory, used)
    level = memory_level(used) if bound in ("memory", "mixed") else None
    sure = margin >= NARROW_MARGIN and used.compute is not None and used.memory is not None
    return Verdict(bound, COUNTERS_ONLY - (0.0 if sure else UNCERTAINTY), f"{text}: {used}.", level)


def _weigh(compute: float, memory: float, used: Utilisation) -> tuple[BoundClass, float, str]:
    """The class, the distance to the nearest boundary in points, and the start of the reason."""
    apart = abs(compute - memory)
    if max(compute, memory) < BUSY:
        if used.other is not None and used.other >= BUSY:
            return "compute", 0.0, "The multiprocessors are busy with what no counter here names"
        text = "No unit is busy"
        if used.occupied < SMALL_GRID_SHARE:
            text += f", and only {used.occupied:.0%} of the multiprocessors get a block"
        return "latency", BUSY - max(compute, memory), text
    if min(compute, memory) >= BUSY and apart < BALANCED:
        margin = min(min(compute, memory) - BUSY, BALANCED - apart)
        return "mixed", margin, "Compute and memory are both busy"
    margin = max(compute, memory) - BUSY
    if min(compute, memory) >= BUSY:
        margin = min(margin, apart - BALANCED)
    if compute > memory:
        return "compute", margin, f"Compute is the limit ({used.unit})"
    return "memory", margin, f"{memory_level(used) or 'Memory'} is the limit"


def memory_level(used: Utilisation) -> MemoryLevel | None:
    """The level of memory that limits; None if the busiest one was not measured by itself."""
    if not used.levels:
        return None
    level, busiest = max(used.levels, key=lambda item: item[1])
    if busiest < max(BUSY, (used.memory or 0.0) - DRAM_SLACK):
        return None
    if used.dram is not None and used.dram >= busiest - DRAM_SLACK:
        return "DRAM"
    return level


def against_work(found: Verdict, floor: Floor) -> tuple[float, str]:
    """The confidence given the work's vote, and what that adds to the reason."""
    if floor.vote == "unknown" or found.bound in ("latency", "mixed", "launch"):
        return found.confidence, ""
    asks = f"the work's {floor.intensity:.3g} flop/byte (ridge {floor.ridge:.3g})"
    if found.bound != floor.vote:
        text = f" By {asks} it would be {floor.vote}-bound: this limit can be lifted."
        return found.confidence - (COUNTERS_ONLY - DISPUTED), text
    if found.level not in (None, "DRAM"):
        text = f" By {asks} only DRAM need limit it: {found.level} can be relieved."
        return found.confidence, text
    return found.confidence + AGREED - COUNTERS_ONLY, " The work's intensity says the same."


def from_work(floor: Floor, time_us: float | None) -> Verdict:
    """The work's vote alone, believed only if the time comes near what it predicts."""
    if floor.vote == "unknown" or not floor.us or not time_us:
        return Verdict("unknown", 0.0, "Nothing was measured that tells what limits it.")
    text = f"No counters; the time is {time_us / floor.us:.2f} times the speed of light."
    if floor.us < NEAR_FLOOR * time_us:
        return Verdict("unknown", 0.2, text)
    return Verdict(floor.vote, 0.4, text, "DRAM" if floor.vote == "memory" else None)
