"""Run a command to its end: in a process group of its own, with a deadline, leaving nothing behind.

Profilers start helpers in sessions of their own. What is started here has its temporary folder
named in its environment; every process that still has that variable is killed too.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_OUTPUT_CAP = 32 * 1024
_CHUNK = 65536
_FREE_BYTES = 4 * 2**20
_FLOOD_PAUSE_S = 0.002
_LAST_READS = 16
_SWEEPS = 50
_SWEEP_PAUSE_S = 0.005
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `problem` completes a sentence that begins with the command's name.

    `output` is the end of what it printed on both streams. `code` is its exit status, negative
    for a signal, None if it was not started. `stopped`: it missed its deadline.
    """

    output: str
    problem: str | None = None
    code: int | None = None
    stopped: bool = False

    @property
    def lacks(self) -> str | None:
        """The shared library that the loader did not find, if that is what went wrong."""
        found = re.search(r"error while loading shared libraries: ([^:\s]+)", self.output)
        return found[1] if found else None


def run_to_end(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    folder: Path,
    timeout_s: float,
    stop: threading.Event | None = None,
) -> Ended:
    """Run `command` with `env`, its temporary files in `folder`; kill it all past the deadline, or
    once `stop` is set.

    `folder` must be private to this run: processes that outlive the command are found by it.
    """
    printed, theirs = os.pipe()
    try:
        process = subprocess.Popen(
            list(command), env={**env, "TMPDIR": str(folder)}, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=theirs, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        os.close(printed)
        return Ended("", f"could not be started: {error.strerror or error}")
    finally:
        os.close(theirs)
    tail = Tail(printed, _OUTPUT_CAP)
    code: int | None = None
    begin = time.monotonic()
    try:
        code = wait_for(process, timeout_s, stop)
    finally:
        kill_all(process, f"TMPDIR={folder}")
        output = tail.finish(timeout_s=2)
    if code is None:
        return Ended(output, stopped_after(begin, timeout_s), stopped=True)
    return Ended(output, ending_problem(code, output), code)


def wait_for(
    process: subprocess.Popen[bytes], timeout_s: float, stop: threading.Event | None
) -> int | None:
    """The exit code, or None if the time is up or `stop` is set before."""
    deadline = time.monotonic() + timeout_s
    while stop is None or not stop.is_set():
        left_s = deadline - time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=left_s if stop is None else min(left_s, _POLL_S))
        if left_s <= _POLL_S:
            break
    return None


def stopped_after(begin: float, timeout_s: float) -> str:
    """What is said of a command that was stopped; `begin` is by the monotonic clock."""
    return f"was stopped after {min(time.monotonic() - begin, timeout_s):.3g} s"


def describe_status(code: int) -> str:
    """An exit status in words; negative, or above 128 from a shell, means a signal."""
    number = -code if code < 0 else code - 128
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(number).name}"
    return f"ended with status {code}"


def last_lines(output: str, count: int = 3) -> str:
    """The last lines that are not empty, as one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " / ".join(line[:200] for line in lines[-count:])


def ending_problem(code: int, output: str) -> str | None:
    """What is said of a command that ended with `code`; None if that is success."""
    if code == 0:
        return None
    said = last_lines(output, 1)
    return f"{describe_status(code)}: {said}" if said else describe_status(code)


class Tail:
    """Keeps the end of what processes print into a pipe, so that a flood costs no memory.

    Past the first megabytes it reads slowly, so that a process that prints without end has to wait
    and takes no core from the judge.
    """

    def __init__(self, fd: int, cap: int) -> None:
        """Take over `fd`, the pipe's read end; keep the last `cap` bytes."""
        self._fd = fd
        self._cap = cap
        self._kept = b""
        self._wake, self._waker = os.pipe()
        os.set_blocking(fd, False)
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def text(self) -> str:
        """What was kept until now."""
        return self._kept.decode(errors="replace")

    def finish(self, *, timeout_s: float = 0.0) -> str:
        """Wait for the end of the pipe, but not longer than `timeout_s`; stop; idempotent."""
        if self._waker >= 0:
            self._reader.join(timeout=timeout_s)
            os.close(self._waker)
            self._waker = -1
            self._reader.join()
        return self.text()

    def _drain(self) -> None:
        poller = select.poll()
        poller.register(self._fd, select.POLLIN)
        poller.register(self._wake, 0)
        total = 0
        while self._wake not in dict(poller.poll()):
            part = self._read()
            if not part:
                break
            self._kept = (self._kept + part)[-self._cap :]
            total += len(part)
            if total > _FREE_BYTES:
                time.sleep(_FLOOD_PAUSE_S)
        for _ in range(_LAST_READS):  # what is left in the pipe, even if others hold it open
            self._kept = (self._kept + self._read())[-self._cap :]
        os.close(self._fd)
        os.close(self._wake)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:
            return b""


def kill_by_environment(mark: str) -> None:
    """Kill every process that was started with `mark`, a ``NAME=value``, in its environment."""
    for _ in range(_SWEEPS):
        found = list(_processes_with(mark))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(_SWEEP_PAUSE_S)


def kill_all(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill a process, its group and what else has `mark`, a ``NAME=value``, in its environment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=30)
    kill_by_environment(mark)


def _processes_with(mark: str) -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # not ours, or just gone
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
