"""CUPTI activity records of this process: a timeline without nsys.

Through NVIDIA's own binding, `cupti-python`: it knows the layout of the records of every CUPTI
release, which ctypes would have to repeat. Only one tool per process may use CUPTI, so never under
nsys or ncu.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from mcts.errors import WorldError
from profilers.kernel_names import bare_name
from profilers.timeline.activities import Activity, ApiCall, Kind, TimelineReport

NO_CUPTI = 3
"""Exit status of a process that cannot record itself; its last line says why."""
_BUFFER_BYTES = 8 * 2**20
_RECORDED = ("CONCURRENT_KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER")
_DEVICE_KINDS: dict[str, Kind] = {
    "CONCURRENT_KERNEL": "kernel", "KERNEL": "kernel", "MEMCPY": "copy", "MEMSET": "memset",
}  # fmt: skip
_FORCED = 1


class CuptiUnavailable(WorldError):
    """CUPTI cannot be used in this process; the text says why and what would help."""


class Recorder:
    """Records the operations of this process on its device between `start` and `stop`.

    Make it before the first CUDA call. Raises CuptiUnavailable, then and at `start`.
    """

    def __init__(self) -> None:
        try:
            cupti = import_module("cupti.cupti")
        except ImportError as error:
            raise CuptiUnavailable(
                f"NVIDIA's Python package for CUPTI cannot be imported ({error}): install "
                "cupti-python in the release of your CUDA toolkit"
            ) from None
        self._cupti: Any = cupti
        self._records = Records(cupti)
        self._call("activity_register_callbacks", lambda: (_BUFFER_BYTES, 0), self._records.receive)

    def start(self) -> None:
        for kind in _RECORDED:
            self._call("activity_enable", getattr(self._cupti.ActivityKind, kind))

    def discard(self) -> None:
        """Discard what was recorded so far; call it while the device is idle."""
        self._flush()
        self._records.clear()

    def take(self) -> TimelineReport:
        """What was recorded since `start` or `discard`; call it while the device is idle."""
        self._flush()
        return self._records.take()

    @property
    def full_names(self) -> dict[str, str]:
        """By the bare name of each kernel seen so far, a name as CUPTI has it: mangled."""
        return dict(self._records.full_names)

    def stop(self) -> None:
        for kind in _RECORDED:
            self._call("activity_disable", getattr(self._cupti.ActivityKind, kind))

    def _flush(self) -> None:
        self._call("activity_flush_all", _FORCED)

    def _call(self, name: str, *arguments: object) -> None:
        try:
            getattr(self._cupti, name)(*arguments)
        except (self._cupti.cuptiError, RuntimeError, AttributeError) as error:
            raise CuptiUnavailable(f"CUPTI refused {name}: {error}") from None


class Records:
    """Converts CUPTI's records to activities and API calls.

    Records are converted as they are received, because their memory is CUPTI's. Names of API calls
    are looked up afterwards, once each.
    """

    def __init__(self, cupti: Any) -> None:
        self._cupti = cupti
        kinds = cupti.ActivityKind
        self._device = {int(getattr(kinds, name)): kind for name, kind in _DEVICE_KINDS.items()}
        self._host = {
            int(kinds.RUNTIME): cupti.CallbackDomain.RUNTIME_API,
            int(kinds.DRIVER): cupti.CallbackDomain.DRIVER_API,
        }
        self._directions = {int(item): item.name for item in cupti.ActivityMemcpyKind}
        self._pageable = int(cupti.ActivityMemoryKind.PAGEABLE)
        self._names: dict[tuple[int, int], str] = {}
        self.full_names: dict[str, str] = {}
        self.clear()

    def clear(self) -> None:
        self._activities: list[Activity] = []
        self._calls: list[tuple[int, int, ApiCall]] = []
        self._cut = 0

    def receive(self, records: Iterable[Any]) -> None:
        """Convert a buffer of records; those of other kinds are ignored."""
        for record in records:
            kind = int(record.kind)
            if kind not in self._device and kind not in self._host:
                continue
            if record.end < record.start or not record.start:  # it had not ended when flushed
                self._cut += 1
            elif kind in self._device:
                self._activities.append(self._activity(self._device[kind], record))
            else:
                call = ApiCall(
                    name="",
                    start_ns=int(record.start),
                    end_ns=int(record.end),
                    correlation=int(record.correlation_id),
                    thread=int(record.thread_id),
                )
                self._calls.append((kind, int(record.cbid), call))

    def take(self) -> TimelineReport:
        """Everything received since `clear`."""
        calls = tuple(
            ApiCall(self._name(kind, cbid), c.start_ns, c.end_ns, c.correlation, c.thread)
            for kind, cbid, c in self._calls
        )
        missing = {}
        if self._cut:
            missing["some operations"] = f"{self._cut} records of CUPTI have no usable times"
        report = TimelineReport(tuple(self._activities), calls, missing)
        self.clear()
        return report

    def _activity(self, kind: Kind, record: Any) -> Activity:
        common: dict[str, Any] = {
            "kind": kind,
            "start_ns": int(record.start),
            "end_ns": int(record.end),
            "stream": int(record.stream_id),
            "correlation": int(record.correlation_id),
        }
        if kind == "kernel":
            full = str(record.name)
            name = bare_name(full)
            self.full_names.setdefault(name, full)
            return Activity(name=name, **common)
        if kind == "memset":
            return Activity(name="", bytes=int(record.bytes), **common)
        return Activity(
            name="",
            bytes=int(record.bytes),
            copy_kind=self._directions.get(int(record.copy_kind), "UNKNOWN"),
            pageable=self._pageable in (int(record.src_kind), int(record.dst_kind)),
            **common,
        )

    def _name(self, kind: int, cbid: int) -> str:
        if (kind, cbid) not in self._names:
            name = self._cupti.get_callback_name(self._host[kind], cbid)
            self._names[kind, cbid] = str(name or "unnamed call")
        return self._names[kind, cbid]
