"""What a recorder tells, be it nsys or CUPTI: device operations and API calls, in these words."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

Kind = Literal["kernel", "copy", "memset"]


@dataclass(frozen=True, slots=True)
class Activity:
    """One operation of the device; times in nanoseconds on the recorder's clock.

    `correlation` is that of the API call which enqueued it, 0 where unknown. `copy_kind` is
    CUPTI's word for a copy's direction ("HTOD", "DTOH", "DTOD", ...). `pageable` tells whether a
    copy's host side is pageable memory, None where that is not known.
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
    """What a recorder saw, in no particular order. `missing` says what is not known, and why."""

    activities: tuple[Activity, ...] = ()
    api_calls: tuple[ApiCall, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


in_time = attrgetter(
    "start_ns", "end_ns", "kind", "name", "stream", "correlation", "bytes", "copy_kind"
)
"""Sorting key of activities that leaves no two different ones in the order they came in."""
