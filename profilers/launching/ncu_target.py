"""The process that ncu profiles: it runs each variant's distinct launches once, on random inputs.

Run as ``python -m profilers.launching.ncu_target SPEC PID`` under ncu. It waits until there is a
file SPEC, as long as the process PID lives. Only launches between the profiler's start and stop are
collected, so that neither filling buffers nor loading modules is. It is not in `profilers.ncu`,
which imports what reads a report: each profile would wait for that.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from profilers.hardware import driver
from profilers.launching.programs import PreparedCall
from profilers.launching.session import DeviceSession
from profilers.launching.target import run_variants

_POLL_S = 0.02


def main(arguments: list[str]) -> int:
    """Wait for the specification, then run its variants; the exit status."""
    spec, asking = Path(arguments[0]), int(arguments[1])
    while not spec.exists():
        if not _lives(asking):
            return 0
        time.sleep(_POLL_S)
    return run_variants(spec, launch_watched)


def _lives(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


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
    sys.exit(main(sys.argv[1:]))
