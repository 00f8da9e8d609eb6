"""The process that is profiled: runs each variant's launches once, on random inputs.

Run as ``python -m profilers.ncu_target SPEC`` under ncu. Only what lies between the profiler's
start and stop is collected, so that neither filling nor loading is. After each variant one line
goes to the progress file: the kernels in ncu's report are matched to variants by these counts,
also where a later variant faults.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from profilers import driver
from profilers.calls import Call
from profilers.programs import Prepared, Program, Region
from profilers.serving import Refusal
from profilers.session import Session


def main(arguments: list[str]) -> int:
    spec = json.loads(Path(arguments[0]).read_text())
    session = Session(spec["device"], Path(spec["support"]).read_bytes())
    buffers = _buffers(session, spec["buffers"])
    with Path(spec["progress"]).open("a") as progress:
        for variant in spec["variants"]:
            line: dict[str, Any] = {"variant": variant["index"], "launches": 0}
            try:
                line["launches"] = _run(session, variant, buffers)
            except Refusal as refusal:
                line["error"] = str(refusal)
            except driver.CudaError as error:
                line["error"] = str(error)
                if error.sticky:
                    _say(progress, {**line, "fatal": True})
                    return 1
            _say(progress, line)
    return 0


def _run(session: Session, variant: dict[str, Any], buffers: dict[str, Region]) -> int:
    """Run one variant under the profiler; returns how many kernels it launched."""
    call = Call.from_json(variant["call"])
    program = Program(Path(variant["cubin"]).read_bytes(), call.kernels)
    try:
        regions = buffers | session.workspaces(call, "variant")
        prepared = Prepared(session.context, program, call, regions)
        session.context.synchronize()
        driver.profiler_start()
        try:
            prepared.enqueue()
            session.context.synchronize()
        finally:
            driver.profiler_stop()
    finally:
        program.unload()
        session.memory.drop("variant/")
    return prepared.launches


def _buffers(session: Session, described: list[dict[str, Any]]) -> dict[str, Region]:
    buffers = {}
    for seed, item in enumerate(described):
        region = session.memory.get(f"task/{item['name']}", item["bytes"])
        session.fill_random(region, item["dtype"], item["fill"], seed=seed)
        buffers[item["name"]] = region
    session.context.synchronize()
    return buffers


def _say(progress: Any, line: dict[str, Any]) -> None:
    progress.write(json.dumps(line) + "\n")
    progress.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
