"""The process that runs a user's Python program and records what it does on the device, by CUPTI.

Run as ``python -m profilers.timeline.python_program OUT PROGRAM ARGUMENTS``. The program runs as
``python PROGRAM ARGUMENTS`` would; what it launched stands in OUT once it ends, even by an error.
Only this process is seen, not others that it starts.
"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
from collections.abc import Mapping, Sequence
from ctypes import CDLL, POINTER, c_char_p, c_int, c_void_p, string_at
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from mcts.errors import WorldError
from mcts.files import write_whole
from profilers.hardware import driver
from profilers.timeline.activities import Activity, ApiCall, TimelineReport
from profilers.timeline.cupti import NO_CUPTI, CuptiUnavailable, Recorder

MOST_RECORDS = 500_000
"""Operations, and API calls, that are written down; those behind them are counted as missing."""
_ACTIVITY = tuple(item.name for item in fields(Activity))
_CALL = tuple(item.name for item in fields(ApiCall))


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """What a program did; `full_names` are those of its kernels by their bare ones."""

    report: TimelineReport
    full_names: dict[str, str]


def command(python: str, out: Path, program: Path, arguments: Sequence[str]) -> list[str]:
    """The command line that records `program`."""
    return [python, "-m", __name__, str(out), str(program), *arguments]


def main(arguments: Sequence[str]) -> int:
    out, program = Path(arguments[0]), Path(arguments[1])
    try:
        recorder = Recorder()
        recorder.start()
    except CuptiUnavailable as error:
        print(error, flush=True)
        return NO_CUPTI
    sys.argv = list(arguments[1:])
    sys.path[0] = str(program.parent)
    try:
        runpy.run_path(str(program), run_name="__main__")
    finally:
        with contextlib.suppress(WorldError):  # no device was used, or it has failed
            driver.call("cuCtxSynchronize")
        report = recorder.take()
        names = {bare: _demangled(full) for bare, full in recorder.full_names.items()}
        write_whole(out, json.dumps(as_json(ProgramRecord(report, names)), separators=(",", ":")))
    return 0


def as_json(record: ProgramRecord) -> dict[str, Any]:
    """A record as `from_json` reads it, at most `MOST_RECORDS` of either kind, in rows."""
    report = record.report
    missing = dict(report.missing)
    lost = sum(max(0, len(rows) - MOST_RECORDS) for rows in (report.activities, report.api_calls))
    if lost:
        missing["some operations"] = f"{lost} records beyond {MOST_RECORDS} were left out"
    return {
        "activities": [
            [getattr(item, name) for name in _ACTIVITY]
            for item in islice(report.activities, MOST_RECORDS)
        ],
        "calls": [
            [getattr(item, name) for name in _CALL]
            for item in islice(report.api_calls, MOST_RECORDS)
        ],
        "full_names": record.full_names,
        "missing": missing,
    }


def from_json(document: Mapping[str, Any]) -> ProgramRecord:
    """What `as_json` wrote. KeyError, TypeError, ValueError or AttributeError for anything else."""
    report = TimelineReport(
        tuple(Activity(**dict(zip(_ACTIVITY, row, strict=True))) for row in document["activities"]),
        tuple(ApiCall(**dict(zip(_CALL, row, strict=True))) for row in document["calls"]),
        _texts(document["missing"]),
    )
    return ProgramRecord(report, _texts(document["full_names"]))


def _texts(found: Mapping[Any, Any]) -> dict[str, str]:
    return {str(name): str(text) for name, text in found.items()}


def _demangled(name: str) -> str:
    """The name as C++ spells it; as it is if the C++ runtime is not there or cannot tell."""
    try:
        function = CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return name
    function.argtypes = [c_char_p, c_void_p, c_void_p, POINTER(c_int)]
    function.restype = c_void_p
    status = c_int()
    text = function(name.encode(), None, None, status)
    return string_at(text).decode(errors="replace") if text else name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
