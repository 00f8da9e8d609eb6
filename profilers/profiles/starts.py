"""Starts of ncu, of which the next one may be made ahead.

Starting ncu and the process that it profiles takes longer than collecting the counters of most
kernels. A start that was made ahead waits for its specification, with everything imported and
nothing on the GPU.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcts.files import write_whole
from profilers import ncu
from profilers.children.processes import child_environment
from profilers.children.scratch import ScratchFolder
from profilers.launching.requests import read_progress

_TARGET = "profilers.launching.ncu_target"
_ENOUGH_CORES = 4


def enough_cores() -> bool:
    """Whether a start ahead leaves cores to what is timed meanwhile."""
    return len(os.sched_getaffinity(0)) >= _ENOUGH_CORES


@dataclass(frozen=True, slots=True)
class Collected:
    """What one start came to: ncu's report, and the progress lines of the profiled process.

    `lines` is None if that process did not get as far as its first variant. `stopped`: it had to
    be ended; what ncu had collected by then is lost.
    """

    report: ncu.NcuReport
    lines: list[dict[str, Any]] | None
    stopped: bool


class ProfilerStart:
    """One start of ncu, on a process that waits to be told what to launch; to be closed."""

    def __init__(self) -> None:
        self._folder = ScratchFolder()
        self._spec = self._folder.path / "spec.json"
        self._stop = threading.Event()
        self._report: Future[ncu.NcuReport] = Future()
        self._thread = threading.Thread(target=self._run, name="rooftree-profiler", daemon=True)
        self._thread.start()

    @property
    def progress(self) -> Path:
        """The file that the profiled process writes its progress to."""
        return self._spec.with_name("progress.jsonl")

    @property
    def ended(self) -> bool:
        """Whether ncu has ended, before or after it was told what to launch."""
        return self._report.done()

    def go(self, spec: Mapping[str, Any], *, limit_s: float) -> Collected:
        """Launch what `spec` says and wait for the report; after `limit_s` all is stopped.

        `spec` is that of `requests.target_spec`. To be called once.
        """
        write_whole(self._spec, json.dumps(spec))
        try:
            report, stopped = self._report.result(timeout=limit_s), False
        except TimeoutError:
            self._stop.set()
            report, stopped = self._report.result(), True
            late = f"{ncu.TOOL} was stopped after {limit_s:.3g} s"  # its own count has the waiting
            report = replace(report, missing={**report.missing, ncu.TOOL: late})
        lines = read_progress(self.progress) if self.progress.is_file() else None
        return Collected(report, lines, stopped)

    def close(self) -> None:
        """End everything that still waits or runs; idempotent."""
        self._stop.set()
        self._thread.join()
        self._folder.close()

    def _run(self) -> None:
        try:
            report = ncu.collect(
                [sys.executable, "-m", _TARGET, str(self._spec), str(os.getpid())],
                env=child_environment(),
                cwd=self._spec.parent,
                timeout_s=math.inf,
                stop=self._stop,
                scratch=self._folder.path,
            )
        except BaseException as error:  # noqa: BLE001 - raised by whoever waits for the report
            self._report.set_exception(error)
        else:
            self._report.set_result(report)


class ProfilerStarts:
    """Starts for one GPU, one after the other; `prepare` makes the next one ahead.

    For any number of threads. Once closed, nothing is made ahead any more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: ProfilerStart | None = None
        self._closed = False

    def prepare(self) -> None:
        """Make the next start now, unless one waits already; it need not succeed."""
        with self._lock:
            if self._waiting is None and not self._closed:
                # The profile that needs it says why there is none.
                with contextlib.suppress(OSError, RuntimeError):
                    self._waiting = ProfilerStart()

    def take(self) -> ProfilerStart:
        """The start that waits; a new one if there is none, or if it has already ended."""
        waiting = self._taken()
        if waiting is not None and waiting.ended:
            waiting.close()
            waiting = None
        return waiting or ProfilerStart()

    def close(self) -> None:
        """End the start that waits; idempotent."""
        self._closed = True
        waiting = self._taken()
        if waiting is not None:
            waiting.close()

    def _taken(self) -> ProfilerStart | None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
        return waiting
