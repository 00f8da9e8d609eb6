"""A rooftree command as a process of its own, and what must hold of how it ends."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READING_S = 10.0
"""What a command that only reads may take, beside the seconds that a busy machine adds."""
SEARCHING_S = 120.0
MOST_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Ended:
    """code: the exit code, negative for a signal. peak_bytes: of resident memory."""

    words: Sequence[str]
    code: int
    output: str
    errors: str
    seconds: float
    peak_bytes: int

    def fault(self, *, limit_s: float = SEARCHING_S) -> str | None:
        """What must never be seen, whatever was done to the command; None if all held."""
        told = f"rooftree {' '.join(self.words)}"
        if "Traceback" in self.errors or "Traceback" in self.output:
            return f"{told}: a traceback:\n{self.errors[-2000:]}"
        if self.seconds > limit_s:
            return f"{told}: {self.seconds:.0f} s"
        if self.peak_bytes > MOST_BYTES:
            return f"{told}: {self.peak_bytes >> 20} MiB"
        if self.code < 0 and self.code != -signal.SIGKILL:
            return f"{told}: ended by signal {-self.code}"
        if self.code > 0 and not self.errors.strip():
            return f"{told}: exit code {self.code} without a word"
        return None


def run(
    words: Sequence[str],
    folder: Path,
    *,
    kill_after_s: float | None = None,
    largest_file: int | None = None,
) -> Ended:
    """A command in `folder`, run to its end, or to kill -9 of it and all its children.

    With `largest_file`, no file may grow beyond so many bytes: as good as a full disk.
    """

    def limit() -> None:
        if largest_file is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "experiments", *words],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
            env=environment, preexec_fn=limit, start_new_session=True,
        )  # fmt: skip
        deadline = SEARCHING_S + 60 if kill_after_s is None else kill_after_s
        killer = threading.Timer(deadline, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        for file in (output, errors):
            file.seek(0)
        return Ended(
            words=words,
            code=process.returncode,
            output=output.read().decode(errors="replace"),
            errors=errors.read().decode(errors="replace"),
            seconds=seconds,
            peak_bytes=usage.ru_maxrss * 1024,
        )
