"""What every profiled process does: run variants one after the other and log its progress.

The specification is made by `requests.target_spec`. After each variant one line goes to the
progress file, so that a profiler's report can be matched to variants even if a later one faults:
``{"variant": index, ...}`` with what the action returned, or ``"error"``, and ``"fatal"`` if the
context is ruined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from profilers.children.protocol import RequestRefused
from profilers.compiling.calls import Call
from profilers.hardware import driver
from profilers.launching.programs import PreparedCall, Program, Region
from profilers.launching.session import DeviceSession

Action = Callable[[DeviceSession, PreparedCall, dict[str, Any]], dict[str, Any]]


def run_variants(path: Path, act: Action) -> int:
    """Do `act` for every variant of the specification at `path`; returns the exit status."""
    spec = json.loads(path.read_text())
    session = DeviceSession(spec["device"], Path(spec["support"]).read_bytes())
    task_buffers = TaskBuffers(session, spec["data"])
    with Path(spec["progress"]).open("a") as progress:
        for variant in spec["variants"]:
            line: dict[str, Any] = {"variant": variant["index"], "launches": 0}
            try:
                with _prepared(session, task_buffers, variant) as prepared:
                    line |= act(session, prepared, variant)
            except RequestRefused as refusal:
                line["error"] = str(refusal)
            except driver.CudaError as error:
                line["error"] = str(error)
                if error.sticky:
                    _write_line(progress, {**line, "fatal": True})
                    return 1
            _write_line(progress, line)
    return 0


class TaskBuffers:
    """The buffers of one group of variants at a time, filled at random when first needed."""

    def __init__(self, session: DeviceSession, groups: list[list[dict[str, Any]]]) -> None:
        self._session, self._groups = session, groups
        self._open: int | None = None
        self._regions: dict[str, Region] = {}

    def buffers(self, group: int) -> dict[str, Region]:
        if group != self._open:
            self._session.memory.drop("task/")
            self._open, self._regions = None, {}
            for seed, item in enumerate(self._groups[group]):
                region = self._session.memory.get(f"task/{item['name']}", item["bytes"])
                self._session.fill_random(region, item["dtype"], item["fill"], seed=seed)
                self._regions[item["name"]] = region
            self._session.context.synchronize()
            self._open = group
        return self._regions


@contextmanager
def _prepared(
    session: DeviceSession, task_buffers: TaskBuffers, variant: dict[str, Any]
) -> Iterator[PreparedCall]:
    call = Call.from_json(variant["call"])
    program = Program(Path(variant["cubin"]).read_bytes(), call.kernels)
    try:
        regions = task_buffers.buffers(variant["data"]) | session.workspaces(call, "variant")
        yield PreparedCall(session.context, program, call, regions)
    finally:
        program.unload()
        session.memory.drop("variant/")


def _write_line(progress: Any, line: dict[str, Any]) -> None:
    progress.write(json.dumps(line) + "\n")
    progress.flush()
