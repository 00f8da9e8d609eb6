"""Running ncu on an untrusted program: both run in one jail, and the program cannot write the
table.

ncu and the program that it profiles communicate over sockets and shared memory, so they share a
jail. ncu's output goes to a file that was opened outside: in the jail it has no name, so that the
program, which must close its standard output before it runs foreign code, cannot open it again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from profilers.children.supervised import (
    Ended,
    Tail,
    ending_problem,
    kill_all,
    stopped_after,
    wait_for,
)
from profilers.sandbox import Jail
from profilers.sandbox.launch import launch_command

FAILURE = "rooftree: not profiled: "
"""Prefix of the line on standard error in which a profiled program says why it failed."""
_MARK = "ROOFTREE_CHILD"
_OUTPUT_CAP = 32 * 1024
_TABLE_BYTES = 256 * 2**20
_GUARDIAN_S = 5.0


def with_tool(jail: Jail, tool: Path) -> Jail:
    """`jail` with the files that ncu needs, and a limit on the size of its table."""
    return replace(
        jail,
        readable=(*jail.readable, *_installation(tool)),
        file_bytes=min(jail.file_bytes, _TABLE_BYTES),
    )


def run_jailed(
    command: Sequence[str],
    *,
    jail: Jail,
    env: Mapping[str, str],
    cwd: Path,
    table: Path,
    timeout_s: float,
    stop: threading.Event | None = None,
) -> Ended:
    """Run `command` in `jail` with its standard output in the file `table`.

    Past the deadline, or once `stop` is set, everything is killed. `Ended.output` is the end of
    standard error.
    """
    mark = secrets.token_hex(8)
    printed, theirs = os.pipe()
    report = os.open(os.devnull, os.O_WRONLY)  # marks the processes that hold it
    lifeline, held = os.pipe()
    try:
        with table.open("wb") as out:
            process = subprocess.Popen(
                launch_command(jail, command, report=report), cwd=cwd, stdin=lifeline, stdout=out,
                stderr=theirs, pass_fds=[report], env={**env, _MARK: mark}, start_new_session=True,
            )  # fmt: skip
    except OSError as error:
        os.close(printed)
        os.close(held)
        return Ended("", f"could not be started: {error.strerror or error}")
    finally:
        for fd in (theirs, report, lifeline):
            os.close(fd)
    tail = Tail(printed, _OUTPUT_CAP)
    code: int | None = None
    begin = time.monotonic()
    try:
        code = wait_for(process, timeout_s, stop)
    finally:
        os.close(held)  # the guardian ends everything in the jail, then itself
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GUARDIAN_S)
        kill_all(process, f"{_MARK}={mark}")
        output = tail.finish(timeout_s=2)
    if code is None:
        return Ended(output, stopped_after(begin, timeout_s), stopped=True)
    return Ended(output, ending_problem(code, output), code)


def failure_in(printed: str) -> str | None:
    """Why the program failed, by its own line in `printed`; None if there is no such line."""
    told = [line for line in printed.splitlines() if line.startswith(FAILURE)]
    return f"not profiled: {told[-1].removeprefix(FAILURE)[:500]}" if told else None


def _installation(tool: Path) -> tuple[Path, ...]:
    """The folders of Nsight Compute: `tool` may be a link, or a script that looks beside itself."""
    real = tool.resolve()
    return tuple(dict.fromkeys(path for path in _places(tool, real) if path.exists()))


def _places(tool: Path, real: Path) -> Iterator[Path]:
    yield tool
    yield real
    if _is_nsight(real.parent):  # with its target/, sections/ and libraries beside it
        yield real.parent
    for parent in [*real.parents][:4]:
        if "nsight" in parent.name.lower():
            yield parent
        yield from parent.glob("nsight-compute*")
    yield from Path("/opt/nvidia/nsight-compute").glob("*")
    yield from Path("/usr/local").glob("cuda*/nsight-compute-*")


def _is_nsight(folder: Path) -> bool:
    return (folder / "target").is_dir() or (folder / "sections").is_dir()
