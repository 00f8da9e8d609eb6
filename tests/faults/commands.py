"""A rooftree command as a process of its own, and what must hold of how it ends."""

from __future__ import annotations

import contextlib
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
(RECORDING,) = (ROOT / "experiments" / "data" / "tasks" / "row_softmax").rglob("*.json.gz")
"""What `optimize row_softmax` replays, for workers."""
READING_S = 10.0
"""What a command that only reads may take, beside the seconds that a busy machine adds."""
SEARCHING_S = 120.0
MOST_BYTES = 2 << 30
_LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT


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


class Running:
    """A command that goes on by itself; `end` waits for it, or kills it and all its children.

    `paper` makes the evaluator `paper-gpu` known, which compiles and runs nothing. With
    `largest_file`, no file may grow beyond so many bytes: as good as a full disk.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        *,
        paper: bool = False,
        largest_file: int | None = None,
    ) -> None:
        def limit() -> None:
            if largest_file is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        self.words = words
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  `end` closes it
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._start = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.on_paper" if paper else "experiments", *words],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._errors,
            env=environment(folder), preexec_fn=limit, start_new_session=True,
        )  # fmt: skip

    def over(self) -> bool:
        """Whether it has ended by itself; it is still to be waited for."""
        return os.waitid(os.P_PID, self._process.pid, _LOOK) is not None

    def kill(self) -> Ended:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return self.end()

    def end(self, *, after_s: float = SEARCHING_S + 60) -> Ended:
        """How it ended, killed if that took longer than `after_s`."""
        killer = threading.Timer(after_s, os.killpg, (self._process.pid, signal.SIGKILL))
        killer.start()
        _, status, usage = os.wait4(self._process.pid, 0)
        killer.cancel()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - self._start
        texts = []
        for file in (self._output, self._errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        return Ended(
            words=self.words,
            code=self._process.returncode,
            output=texts[0],
            errors=texts[1],
            seconds=seconds,
            peak_bytes=usage.ru_maxrss * 1024,
        )


def run(
    words: Sequence[str],
    folder: Path,
    *,
    kill_after_s: float = SEARCHING_S + 60,
    paper: bool = False,
    largest_file: int | None = None,
) -> Ended:
    """A command in `folder`, run to its end, or to kill -9 of it and all its children."""
    return Running(words, folder, paper=paper, largest_file=largest_file).end(after_s=kill_after_s)


def environment(folder: Path) -> dict[str, str]:
    """Of a command in `folder`: nothing of it is kept elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])]),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_DATA_HOME": str(folder / "data"),
        "OPENAI_API_KEY": "none",
        "CUDA_VISIBLE_DEVICES": "",  # everything is replayed, also where there is a GPU
    }
