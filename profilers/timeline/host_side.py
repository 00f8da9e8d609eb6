"""What the host did for a window of device operations: launching, waiting, allocating."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profilers.timeline.activities import Activity, ApiCall
from profilers.timeline.api_calls import (
    ALLOCATIONS,
    GRAPH_LAUNCHES,
    LAUNCHES,
    WAITS,
    bare_call,
    is_runtime,
)
from profilers.timeline.intervals import Interval, covered, microseconds, within


class HostSide:
    """What the host did for the operations of a window."""

    def __init__(
        self, calls: Sequence[ApiCall], kernels: Sequence[Activity], span: Interval
    ) -> None:
        self._span = span
        self._named = [(bare_call(call.name), call) for call in _outermost(calls)]
        self._launches = [call for name, call in self._named if name in LAUNCHES]
        self._graphs = [call for name, call in self._named if name in GRAPH_LAUNCHES]
        self._kernels = kernels

    def facts(self) -> dict[str, int | float]:
        # A wait before the device's first or after its last operation waits for nothing; the very
        # first API call of a program creates the context, whatever it is.
        waits = [
            covered([within((call.start_ns, call.end_ns), self._span)])[0]
            for name, call in self._named
            if name in WAITS and call.end_ns > self._span[0] and call.start_ns < self._span[1]
        ]
        allocations = self._allocations_between()
        return {
            "launches": len(self._launches),
            "graph_launches": len(self._graphs),
            "launch_api_us": microseconds(sum(map(_length, self._launches + self._graphs))),
            "sync_calls": len(waits),
            "sync_us": microseconds(sum(waits)),
            "allocations": len(allocations),
            "allocation_us": microseconds(sum(map(_length, allocations))),
        }

    def _allocations_between(self) -> list[ApiCall]:
        """Allocations after the first kernel was launched and before the last one was."""
        # By launch calls: a final cudaFree waits for the last kernel, so it overlaps it.
        starts = [call.start_ns for call in self._launches + self._graphs]
        starts = starts or [kernel.start_ns for kernel in self._kernels]
        if not starts:
            return []
        first, last = min(starts), max(starts)
        return [
            call
            for name, call in self._named
            if name in ALLOCATIONS and first <= call.start_ns < last
        ]


def _length(call: ApiCall) -> int:
    return max(0, call.end_ns - call.start_ns)


def _outermost(calls: Iterable[ApiCall]) -> list[ApiCall]:
    """The calls in order, less those that the runtime makes of the driver within its own."""
    kept = []
    until: dict[int, int] = {}
    for call in sorted(
        calls, key=lambda c: (c.start_ns, -c.end_ns, not is_runtime(c.name), c.name)
    ):
        if is_runtime(call.name):
            until[call.thread] = max(call.end_ns, until.get(call.thread, call.end_ns))
        elif call.end_ns <= until.get(call.thread, call.end_ns - 1):
            continue
        kept.append(call)
    return kept
