"""Reads the SQLite file that `nsys export` writes: operations of one device, and API calls.

nsys creates its tables on demand, so an absent table means that nothing of its kind happened.
Columns differ between versions, so facts that depend on one may be missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from profilers.kernel_names import bare_name
from profilers.timeline.activities import Activity, ApiCall, Kind, TimelineReport
from profilers.timeline.nsys_tables import (
    CALLS,
    COPIES,
    COPY_KINDS,
    GRAPHS,
    KERNELS,
    MEMORY_KINDS,
    MEMSETS,
    Cell,
    Tables,
    open_tables,
)

_EXECUTION_COLUMNS = (
    "start",
    "end",
    "deviceId",
    "contextId",
    "streamId",
    "correlationId",
    "globalPid",
)
# For versions that export no such table; CUPTI's and nsys's own numbers.
_USUAL_COPY_KINDS = {
    1: "HTOD", 2: "DTOH", 3: "HTOA", 4: "ATOH", 5: "ATOA", 6: "ATOD", 7: "DTOA", 8: "DTOD",
    9: "HTOH", 10: "PTOP", 11: "UVM_HTOD", 12: "UVM_DTOH", 13: "UVM_DTOD",
}  # fmt: skip
_USUAL_MEMORY_KINDS = {0: "PAGEABLE"}
_THREAD_BITS = 24


def read_sqlite(path: Path) -> TimelineReport:
    """Read kernels, copies, memsets and API calls of an export, in the order of its tables.

    Raises InputError if the file is not such an export, is damaged or too large.
    """
    with open_tables(path) as tables:
        rows = [*_kernels(tables), *_graphs(tables), *_copies(tables), *_memsets(tables)]
        calls = _api_calls(tables)
        missing = tables.missing
    if not any(row.activity.kind == "kernel" for row in rows):
        missing.setdefault(
            "kernels",
            "the report holds no kernel: none was launched, or CUDA was not traced "
            "(nsys profile --trace=cuda)",
        )
    if rows and not calls:
        missing.setdefault("API calls", "the report holds no CUDA API calls")
    rows, calls = _one_device(rows, calls, missing)
    return _with_unique_ids(rows, calls, missing)


@dataclass(frozen=True, slots=True)
class _Row:
    """An operation and where it ran, before identifiers are made unique."""

    activity: Activity
    process: int
    device: int
    context: int

    @property
    def owner(self) -> tuple[int, int]:
        """The API call that enqueued it; correlations count from 1 in every process."""
        return self.process, self.activity.correlation


_Call = tuple[int, ApiCall]
"""An API call with its process."""


def _kernels(tables: Tables) -> list[_Row]:
    names = ("shortName", "demangledName", "mangledName")
    rows = tables.rows(KERNELS, (*_EXECUTION_COLUMNS, *names), what="kernels")
    chosen = [next((cell for cell in row[7:] if isinstance(cell, int)), None) for row in rows]
    bare = {number: bare_name(text) for number, text in tables.texts(chosen).items()}
    if any(number not in bare for number in chosen):
        tables.missing["kernel names"] = "the export does not name all kernels"
    return [
        _row("kernel", row, name=bare.get(number or 0) or "unnamed kernel")
        for number, row in zip(chosen, rows, strict=True)
    ]


def _graphs(tables: Tables) -> list[_Row]:
    """CUDA graphs that were recorded as a whole, without their kernels."""
    rows = tables.rows(GRAPHS, (*_EXECUTION_COLUMNS, "graphId"), what="CUDA graphs")
    if rows:
        tables.missing["kernels of CUDA graphs"] = (
            "each graph was recorded as a whole and counts as one kernel; "
            "nsys profile --cuda-graph-trace=node records its kernels"
        )
    return [_row("kernel", row, name=f"CUDA graph {_integer(row[7])}") for row in rows]


def _copies(tables: Tables) -> list[_Row]:
    directions = tables.enumeration(COPY_KINDS) or _USUAL_COPY_KINDS
    memory = tables.enumeration(MEMORY_KINDS) or _USUAL_MEMORY_KINDS
    pageable = {number for number, name in memory.items() if name == "PAGEABLE"}
    columns = (*_EXECUTION_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind")
    found = []
    for row in tables.rows(COPIES, columns, what="copies"):
        ends = [kind for kind in row[9:] if isinstance(kind, int)]
        if len(ends) < 2:
            tables.missing["pageable copies"] = "the export does not tell kinds of memory"
        item = _row("copy", row, size=row[7])
        activity = replace(
            item.activity,
            copy_kind=directions.get(_integer(row[8]), "UNKNOWN"),
            pageable=any(kind in pageable for kind in ends) if len(ends) == 2 else None,
        )
        found.append(replace(item, activity=activity))
    return found


def _memsets(tables: Tables) -> list[_Row]:
    rows = tables.rows(MEMSETS, (*_EXECUTION_COLUMNS, "bytes"), what="memsets")
    return [_row("memset", row, size=row[7]) for row in rows]


def _api_calls(tables: Tables) -> list[_Call]:
    columns = ("start", "end", "nameId", "correlationId", "globalTid")
    rows = [row for table in CALLS for row in tables.rows(table, columns, what="API calls")]
    names = tables.texts(row[2] for row in rows)
    found = []
    for row in rows:
        start, end, name, correlation, thread = map(_integer, row)
        call = ApiCall(names.get(name, "unnamed call"), start, end, correlation, thread)
        found.append((thread >> _THREAD_BITS, call))
    return found


def _one_device(
    rows: list[_Row], calls: list[_Call], missing: dict[str, str]
) -> tuple[list[_Row], list[_Call]]:
    """The operations of the device whose kernels took longest, without calls for other devices.

    Several devices together would look like overlapping streams and hide their idle time.
    """
    kernel_ns: Counter[int] = Counter()
    for row in rows:
        ran = row.activity.end_ns - row.activity.start_ns
        kernel_ns[row.device] += ran if row.activity.kind == "kernel" else 0
    if len(kernel_ns) < 2:
        return rows, calls
    chosen = max(sorted(kernel_ns), key=lambda device: kernel_ns[device])
    missing["other devices"] = (
        f"the report covers {len(kernel_ns)} devices; told here is device {chosen}, whose kernels "
        "took longest"
    )
    ours = [row for row in rows if row.device == chosen]
    theirs = {row.owner for row in rows if row.device != chosen} - {row.owner for row in ours}
    return ours, [call for call in calls if (call[0], call[1].correlation) not in theirs]


def _with_unique_ids(
    rows: list[_Row], calls: list[_Call], missing: dict[str, str]
) -> TimelineReport:
    """Renumber streams and correlations so that no two processes or contexts share one."""
    processes = sorted({row.process for row in rows})
    offsets = {process: n << 32 for n, process in enumerate(processes)}
    known = any(processes)  # otherwise this version does not record the process
    others = len(processes) << 32 if known else 0
    fresh = count(max((row.activity.stream for row in rows), default=0) + 1)
    streams: dict[tuple[int, ...], int] = {}
    taken: set[int] = set()
    activities = []
    for row in rows:
        item, offset = row.activity, offsets[row.process]
        key = (row.process, row.device, row.context, item.stream)
        if key not in streams:
            streams[key] = item.stream if item.stream not in taken else next(fresh)
            taken.add(item.stream)
        if streams[key] != item.stream or (offset and item.correlation):
            number = item.correlation and item.correlation + offset
            item = replace(item, stream=streams[key], correlation=number)
        activities.append(item)
    return TimelineReport(
        activities=tuple(activities),
        api_calls=tuple(
            _with_offset(call, offsets.get(process, others)) for process, call in calls
        ),
        missing=missing,
    )


def _with_offset(call: ApiCall, offset: int) -> ApiCall:
    if not offset or not call.correlation:
        return call
    return replace(call, correlation=call.correlation + offset)


def _row(kind: Kind, cells: Sequence[Cell], *, name: str = "", size: Cell = None) -> _Row:
    start, end, device, context, stream, correlation, process = map(_integer, cells[:7])
    activity = Activity(
        kind=kind,
        name=name,
        start_ns=start,
        end_ns=end,
        stream=stream,
        correlation=correlation,
        bytes=max(0, _integer(size)),
    )
    return _Row(activity, process=process >> _THREAD_BITS, device=device, context=context)


def _integer(cell: Cell) -> int:
    return cell if isinstance(cell, int) else 0
