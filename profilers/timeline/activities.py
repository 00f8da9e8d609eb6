"""Device operations and API calls as any recorder (nsys or CUPTI) reports them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

Kind = Literal["kernel", "copy", "memset"]


@dataclass(frozen=True, slots=True)
class Activity:
    """One operation of the device; times in nanoseconds on the recorder's clock.

    `correlation` is that of the API call which enqueued it, 0 if unknown. `copy_kind` is CUPTI's
    name for a copy's direction ("HTOD", "DTOH", "DTOD", ...). `pageable` is whether a copy's host
    side is pageable memory, None if unknown.
    """

    kind: Kind
    name: str
    start_ns: int
    end_ns: int
    stream: int = 0
    correlation: int = 0
    bytes: int = 0
    copy_kind: str = ""
    pageable: bool | None = None


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of the runtime or driver API on the host, on the same clock."""

    name: str
    start_ns: int
    end_ns: int
    correlation: int = 0
    thread: int = 0


@dataclass(frozen=True, slots=True)
class TimelineReport:
    """What was recorded, in no particular order; `missing` says what is not known, and why."""

    activities: tuple[Activity, ...] = ()
    api_calls: tuple[ApiCall, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


time_order = attrgetter(
    "start_ns", "end_ns", "kind", "name", "stream", "correlation", "bytes", "copy_kind"
)
"""A sorting key for activities that does not depend on the order in which they were recorded."""

Interval = tuple[int, int]
"""Start and end in whole nanoseconds; empty if the end is not after the start."""


def covered(intervals: Iterable[Interval]) -> tuple[int, int]:
    """The length covered by at least one interval, and by two or more."""
    edges: list[Interval] = []
    for start, end in intervals:
        if end > start:
            edges += [(start, 1), (end, -1)]
    once = twice = depth = 0
    since = 0
    for at, change in sorted(edges):
        once += (at - since) if depth >= 1 else 0
        twice += (at - since) if depth >= 2 else 0
        depth += change
        since = at
    return once, twice


def within(inner: Interval, outer: Interval) -> Interval:
    """The intersection of both intervals, which may be empty."""
    return max(inner[0], outer[0]), min(inner[1], outer[1])


def microseconds(nanoseconds: float) -> float:
    return nanoseconds / 1e3
