"""What the host did for a window of device operations: launching, waiting, allocating."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from profilers.timeline.activities import (
    Activity,
    ApiCall,
    Interval,
    covered,
    microseconds,
    within,
)

LAUNCHES = frozenset(
    {"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel", "cuLaunchKernelEx",
     "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice", "cudaLaunch",
     "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel",
     "cudaLaunchCooperativeKernelMultiDevice"}
)  # fmt: skip
GRAPH_LAUNCHES = frozenset({"cuGraphLaunch", "cudaGraphLaunch"})
WAITS = frozenset(
    {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cudaDeviceSynchronize",
     "cudaStreamSynchronize", "cudaEventSynchronize", "cudaThreadSynchronize"}
)  # fmt: skip
"""Calls that only wait. A blocking copy waits too, but counts as a copy."""
ALLOCATIONS = frozenset(
    {"cuMemAlloc", "cuMemAllocPitch", "cuMemAllocManaged", "cuMemFree", "cuArrayCreate",
     "cuArray3DCreate", "cuArrayDestroy", "cudaMalloc", "cudaMallocPitch", "cudaMalloc3D",
     "cudaMallocArray", "cudaMalloc3DArray", "cudaMallocManaged", "cudaFree", "cudaFreeArray"}
)  # fmt: skip
"""Calls that may stall the device, unlike stream-ordered ones (cudaMallocAsync)."""

_VERSION = re.compile(r"(?:_v\d+|_ptsz|_ptds)+$")


class HostSide:
    """The host's calls around the operations of a window."""

    def __init__(
        self, calls: Sequence[ApiCall], kernels: Sequence[Activity], span: Interval
    ) -> None:
        self._span = span
        self._named = [(base_name(call.name), call) for call in _outermost(calls)]
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
    """The calls in order, without the driver calls that the runtime makes within its own calls."""
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


def base_name(name: str) -> str:
    """`cudaLaunchKernel_ptsz_v7000` is `cudaLaunchKernel`."""
    return _VERSION.sub("", name)


def is_runtime(name: str) -> bool:
    """Whether a call belongs to the runtime API, which in turn calls the driver API."""
    return name.startswith("cuda")
