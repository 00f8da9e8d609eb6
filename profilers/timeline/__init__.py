"""The facts about a window of device operations and API calls, from any recorder. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from mcts.domain import TimelineFacts
from profilers.timeline.activities import (
    Activity,
    ApiCall,
    TimelineReport,
    covered,
    microseconds,
    time_order,
)
from profilers.timeline.host_side import HostSide

__all__ = ["Activity", "ApiCall", "TimelineReport", "kernel_times", "summarise"]

Source = Literal["nsys", "cupti"]

SHORT_KERNEL_NS = 10_000
SMALL_COPY_BYTES = 64 * 1024
TO_DEVICE = frozenset({"HTOD", "HTOA"})
TO_HOST = frozenset({"DTOH", "ATOH"})
_MIGRATIONS = frozenset({"UVM_HTOD", "UVM_DTOH"})
_ACROSS = TO_DEVICE | TO_HOST | _MIGRATIONS


def summarise(
    activities: Sequence[Activity], api_calls: Sequence[ApiCall], *, source: Source, calls: int = 1
) -> TimelineFacts | None:
    """The facts about a window; None if the device did nothing in it.

    The wait before a kernel's first launch is `first_use_us`, not `gap_us`: the kernel is loaded
    then, and instrumented under a profiler, which takes tens of milliseconds without any API call
    in the record. Only a single run has such launches: several `calls` in a window come after a
    warm-up. Copies are those between host and device; `copy_us` is the part of the span in which
    at least one ran. Blocking copies are not among `sync_calls`.
    """
    if not activities:
        return None
    order = sorted(activities, key=time_order)
    begin = order[0].start_ns
    end = max(item.end_ns for item in order)
    kernels = [item for item in order if item.kind == "kernel"]
    durations = [max(0, item.end_ns - item.start_ns) for item in kernels]
    busy, overlapped = covered((item.start_ns, item.end_ns) for item in kernels)
    host = HostSide(api_calls, kernels, (begin, end))
    idle = _idle(order, first_uses=calls == 1)
    return TimelineFacts(
        source=source,
        calls=calls,
        span_us=microseconds(max(0, end - begin)),
        busy_us=microseconds(busy),
        overlapped_us=microseconds(overlapped),
        gap_us=microseconds(idle.gap),
        median_gap_us=microseconds(median(idle.between)) if idle.between else None,
        first_use_us=microseconds(idle.first_use),
        kernels=len(kernels),
        kernel_names=len({item.name for item in kernels}),
        median_kernel_us=microseconds(median(durations)) if durations else None,
        short_kernels=sum(duration < SHORT_KERNEL_NS for duration in durations),
        streams=len({item.stream for item in kernels}),
        **_copy_facts(order),
        **host.facts(),
    )


def kernel_times(activities: Iterable[Activity]) -> dict[str, list[float]]:
    """Microseconds of each run of each kernel, by bare name, in order of time."""
    times: dict[str, list[float]] = {}
    for item in sorted(activities, key=time_order):
        if item.kind == "kernel":
            times.setdefault(item.name, []).append(
                microseconds(max(0, item.end_ns - item.start_ns))
            )
    return times


@dataclass(slots=True)
class _Idle:
    """Nanoseconds in which the device was idle; `between` are those from one kernel to the next."""

    gap: int = 0
    first_use: int = 0
    between: list[int] = field(default_factory=list)


def _idle(order: Sequence[Activity], *, first_uses: bool) -> _Idle:
    """Sum the idle time of operations in order; with `first_uses`, keep waits before those
    apart."""
    found = _Idle()
    reach = order[0].start_ns
    since_kernel: int | None = None
    used: set[str] = set()
    for item in order:
        wait = max(0, item.start_ns - reach)
        if first_uses and item.kind == "kernel" and item.name not in used:
            found.first_use += wait
            wait, since_kernel = 0, None
        found.gap += wait
        reach = max(reach, item.end_ns)
        if since_kernel is not None:
            since_kernel += wait
        if item.kind == "kernel":
            used.add(item.name)
            if since_kernel is not None:
                found.between.append(since_kernel)
            since_kernel = 0
    return found


def _copy_facts(order: Sequence[Activity]) -> dict[str, int | float]:
    across = [item for item in order if item.kind == "copy" and item.copy_kind in _ACROSS]
    asked = [item for item in across if item.copy_kind not in _MIGRATIONS]
    return {
        "copies_to_device": sum(item.copy_kind in TO_DEVICE for item in asked),
        "copies_to_host": sum(item.copy_kind in TO_HOST for item in asked),
        "copy_us": microseconds(covered((item.start_ns, item.end_ns) for item in across)[0]),
        "copied_bytes": sum(max(0, item.bytes) for item in across),
        "small_copies": sum(item.bytes < SMALL_COPY_BYTES for item in asked),
        "pageable_copies": sum(item.pageable is True for item in asked),
        "pageable_bytes": sum(max(0, item.bytes) for item in asked if item.pageable),
    }
