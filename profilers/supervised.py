"""Run a command to its end: in a process group of its own, with a deadline, leaving nothing behind.

Profilers start helpers that put themselves into sessions of their own. What is started here has
its temporary folder named in its environment: whatever still carries that name is killed too.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_OUTPUT_CAP = 32 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: what went wrong, as the end of a sentence that begins with its name.

    `output` is the end of what it printed on both streams. `code` is its exit status, negative
    for a signal, None where it was not started. `stopped` tells a deadline.
    """

    output: str
    problem: str | None = None
    code: int | None = None
    stopped: bool = False

    @property
    def lacks(self) -> str | None:
        """The shared library that the loader did not find, where that is what went wrong."""
        found = re.search(r"error while loading shared libraries: ([^:\s]+)", self.output)
        return found[1] if found else None


def run_to_end(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, folder: Path, timeout_s: float
) -> Ended:
    """Run `command` with `env`, its temporary files in `folder`; past the deadline kill it all.

    `folder` must be private to this run: what outlives the command is found by it.
    """
    try:
        process = subprocess.Popen(
            list(command), env={**env, "TMPDIR": str(folder)}, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Ended("", f"could not be started: {error.strerror or error}")
    printed = _Tail(process)
    code: int | None = None
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(timeout=timeout_s)
    finally:
        _kill(process, folder)
    output = printed.text()
    if code is None:
        return Ended(output, f"was stopped after {timeout_s:.3g} s", stopped=True)
    return Ended(output, _how(code, output), code)


def describe_status(code: int) -> str:
    """What an exit status says; negative, or 128 and more from a shell, for a signal."""
    number = -code if code < 0 else code - 128
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(number).name}"
    return f"ended with status {code}"


def last_lines(output: str, count: int = 3) -> str:
    """The last lines that say something, as one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " / ".join(line[:200] for line in lines[-count:])


def _how(code: int, output: str) -> str | None:
    if code == 0:
        return None
    said = last_lines(output, 1)
    return f"{describe_status(code)}: {said}" if said else describe_status(code)


class _Tail:
    """Keeps the end of what a process prints, so that a flood costs no memory."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._stream = process.stdout
        self._kept = b""
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def text(self) -> str:
        self._reader.join(timeout=2)
        return self._kept.decode(errors="replace")

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._stream:
            while part := os.read(self._stream.fileno(), 65536):
                self._kept = (self._kept + part)[-_OUTPUT_CAP:]


def _kill(process: subprocess.Popen[bytes], folder: Path) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=30)
    for pid in _stragglers(folder):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _stragglers(folder: Path) -> Iterator[int]:
    """Processes started with `folder` as the place of their temporary files."""
    mark = f"TMPDIR={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # not ours, or just gone
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
