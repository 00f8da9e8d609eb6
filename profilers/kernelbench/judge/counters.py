"""Hardware counters of one call of a candidate, by ncu, in the candidate's jail."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from mcts.domain import metrics as m
from profilers import ncu
from profilers.children.processes import child_environment
from profilers.kernel_names import bare_name
from profilers.kernelbench.shared.profiling_spec import ProfilingSpec
from profilers.ncu.metrics import COLLECTED, THROUGHPUTS
from profilers.profiles.launches import TracedKernel, batches
from profilers.sandbox import Jail

MOST_LAUNCHES = 32
"""Launches that one run of the profiler replays."""
MOST_RUNS = 3
LEAST_LEFT = 0.1
"""Share of the call's time from which kernels that did not fit are worth another run."""
FEW_METRICS: tuple[str, ...] = (
    *THROUGHPUTS,
    m.DURATION,
    m.DRAM_READ_BYTES,
    m.DRAM_WRITE_BYTES,
    m.ACHIEVED_OCCUPANCY,
    m.THEORETICAL_OCCUPANCY,
    m.REGISTERS,
    m.WAVES,
    m.GRID,
    m.BLOCK,
    m.MULTIPROCESSORS,
)
"""Collected if all counters take too long; a pass saves and restores what a kernel writes."""
_START_S = 60.0
_PER_LAUNCH_S = 4.0
_PASSES = 60
_LONGEST_S = 300.0
_WAITS_S = 2 * _LONGEST_S
_FIRST_SHARE = 0.6
"""Share of the remaining time for all counters; the rest is for the few, if that fails."""
_PERMISSION = "ERR_NVGPUCTRPERM"


@dataclass(slots=True)
class CounterResult:
    """Profiled launches, and what is missing, by key of `Profile.missing`."""

    launches: list[ncu.NcuKernel] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


class ReadyProfiler:
    """The profiler, started with all kernels to be profiled, on a process that has imported PyTorch
    and waits. Nothing of the candidate has run in it yet, and nothing is on the GPU.

    A context manager; leaving it ends what still waits or runs.
    """

    def __init__(self, spec: ProfilingSpec, *, jail: Jail, cwd: Path) -> None:
        self._gate = cwd / f"profile-{secrets.token_hex(8)}"
        self._stop = threading.Event()
        waiting = replace(spec, waits_for=str(self._gate))
        self._pool = ThreadPoolExecutor(1, "rooftree-profiler")
        run = _Run(waiting, jail, cwd, ())
        self._report = self._pool.submit(run.collect, COLLECTED, _WAITS_S, self._stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown()
        self._gate.unlink(missing_ok=True)

    def go(self, limit_s: float) -> tuple[ncu.NcuReport, bool]:
        """The report, and whether the profiler had to be stopped, after `limit_s`."""
        with contextlib.suppress(OSError):  # it is then stopped when its time is up
            self._gate.touch()
        try:
            return self._report.result(timeout=limit_s)
        except TimeoutError:
            self._stop.set()
            report, _ = self._report.result()
            return report, not report.kernels


def collect_counters(
    spec: ProfilingSpec,
    *,
    jail: Jail,
    cwd: Path,
    launched: Sequence[TracedKernel] = (),
    call_us: float = 0.0,
    longest_s: float = _LONGEST_S,
    ready: ReadyProfiler | None = None,
) -> CounterResult:
    """Profile one call of `spec`. `launched` are the kernels that a trace saw, and `call_us` is how
    long a call takes: they say how much can be profiled in `longest_s`, and what. A profiler that
    is `ready` is used if all kernels are profiled in one run.

    Never raises for what the candidate or a tool does.
    """
    found = CounterResult()
    deadline = time.monotonic() + longest_s
    names = {bare_name(item.name) for item in launched}
    chosen = batches(launched, most=MOST_LAUNCHES, runs=MOST_RUNS, least=LEAST_LEFT) or [[]]
    total = sum(item.launches for item in launched) or MOST_LAUNCHES
    for batch in chosen:
        every = set(batch) == names and total <= MOST_LAUNCHES
        launches = min(MOST_LAUNCHES, total)
        limit_s = _START_S + _PER_LAUNCH_S * launches + _PASSES * call_us / 1e6
        left_s = deadline - time.monotonic()
        limit_s = min(limit_s, _FIRST_SHARE * left_s)
        if limit_s <= 0:
            found.missing[ncu.TOOL] = f"further kernels would take more than {longest_s:.0f} s"
            break
        run = _Run(spec, jail, cwd, () if every else tuple(batch))
        if every and ready is not None:
            report, stopped = ready.go(limit_s)
        else:
            report, stopped = run.collect(COLLECTED, limit_s)
        if stopped:
            report = run.fewer(limit_s, deadline - time.monotonic())
        found.launches += report.kernels
        found.missing |= {name: _told(reason) for name, reason in report.missing.items()}
        if not report.kernels:
            break
    if names:  # then each kernel says what is missing
        found.missing.pop(ncu.LAUNCHES, None)
    return found


@dataclass(frozen=True, slots=True)
class _Run:
    """One start of the profiler over kernels of these names; none means all."""

    spec: ProfilingSpec
    jail: Jail
    cwd: Path
    names: tuple[str, ...]

    def collect(
        self, metrics: Sequence[str], limit_s: float, stop: threading.Event | None = None
    ) -> tuple[ncu.NcuReport, bool]:
        """The report, and whether the profiler had to be stopped."""
        begin = time.monotonic()
        report = ncu.collect(
            self.spec.command(),
            env=child_environment(),
            cwd=self.cwd,
            timeout_s=limit_s,
            metrics=metrics,
            kernels=[_exactly(name) for name in self.names],
            launches=MOST_LAUNCHES,
            jail=self.jail,
            stop=stop,
        )
        stopped = not report.kernels and time.monotonic() - begin >= limit_s
        return report, stopped

    def fewer(self, stopped_s: float, left_s: float) -> ncu.NcuReport:
        """Collect the few counters that need few passes, because all took too long."""
        why = f"all counters took more than {stopped_s:.0f} s and were stopped"
        if left_s <= 0:
            return ncu.NcuReport((), {ncu.TOOL: why})
        report, stopped = self.collect(FEW_METRICS, min(stopped_s, left_s))
        if stopped or not report.kernels:
            reason = "so did the few that take few passes" if stopped else report.missing[ncu.TOOL]
            return ncu.NcuReport((), {**report.missing, ncu.TOOL: f"{why}; {reason}"})
        left_out = {name: why for name in COLLECTED if name not in FEW_METRICS}
        return ncu.NcuReport(report.kernels, {**report.missing, **left_out})


def _exactly(name: str) -> str:
    """A regular expression that matches one kernel's name."""
    return "".join(mark if mark.isalnum() or mark == "_" else "." for mark in name)


def _told(reason: str) -> str:
    if _PERMISSION not in reason:
        return reason
    return (
        f"the driver refuses hardware counters to programs without rights ({_PERMISSION}), and "
        "candidates run without any, also for root: load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0"
    )
