"""The process that ncu profiles: it runs each variant's distinct launches once, on random inputs.

Run as ``python -m profilers.launching.ncu_target SPEC`` under ncu. Only launches between the
profiler's start and stop are collected, so that neither filling buffers nor loading modules is. It
is not in `profilers.ncu`, which imports what reads a report: each profile would wait for that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from profilers.hardware import driver
from profilers.launching.programs import PreparedCall
from profilers.launching.session import DeviceSession
from profilers.launching.target import run_variants


def launch_watched(
    session: DeviceSession, prepared: PreparedCall, variant: dict[str, Any]
) -> dict[str, Any]:
    """Run the call once, with the watched launches under the profiler; returns their number."""
    watched = frozenset(variant["watched"])
    launches = 0
    for index in range(prepared.steps):
        if index not in watched:
            prepared.enqueue_step(index)
            continue
        session.context.synchronize()
        driver.profiler_start()
        try:
            prepared.enqueue_step(index)
            session.context.synchronize()
            launches += 1
        finally:
            driver.profiler_stop()
    session.context.synchronize()
    return {"launches": launches}


if __name__ == "__main__":
    sys.exit(run_variants(Path(sys.argv[1]), launch_watched))
