"""Nsight Compute: run it on a command and read the counters of the launched kernels.

Counters may be refused, the tool absent, a kernel too large to replay: these are normal states of
the world. They are reported as missing, with a reason, never as an exception and never as a zero.
"""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError
from profilers.children.processes import allow_listed
from profilers.children.supervised import run_to_end
from profilers.compiling.toolchain import find_tool
from profilers.ncu.jailed import failure_in, run_jailed, with_tool
from profilers.ncu.messages import no_kernel_profiled, refusal, unknown_metrics
from profilers.ncu.metrics import COLLECTED
from profilers.ncu.pages import parse_stream
from profilers.ncu.report import LAUNCHES, TOOL, NcuKernel, NcuReport, empty_report
from profilers.ncu.report_files import read_report
from profilers.sandbox import Jail

__all__ = ["LAUNCHES", "TOOL", "NcuKernel", "NcuReport", "collect", "read_report"]

LAUNCHES_OF_A_PROGRAM = 50
"""Launches of a user's program that are profiled by default; each costs tens of passes, so that a
program with thousands of launches would run for hours."""
_MOST_RETRIES = 4
_LISTING = 64 * 1024
"""Characters at the start of ncu's log in which it may list the kernels."""


def collect(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    metrics: Sequence[str] = COLLECTED,
    bracketed: bool = True,
    kernels: Sequence[str] = (),
    skip: int = 0,
    launches: int | None = None,
    jail: Jail | None = None,
    stop: threading.Event | None = None,
    scratch: Path | None = None,
) -> NcuReport:
    """Run `command` under ncu and read the counters of the kernels it launches.

    A `bracketed` command marks what is to be profiled with cuProfilerStart and cuProfilerStop; of
    any other command all launches are profiled, those of child processes included, up to `launches`
    or `LAUNCHES_OF_A_PROGRAM`. `kernels` are names, or regular expressions of names, to which
    `skip` and `launches` apply; none means all. Of `env` only allow-listed variables reach the
    command, with the locale set to C. Past `timeout_s`, or once `stop` is set, everything that was
    started is killed. Metrics that this ncu does not know are reported as missing, and the run is
    repeated without them. With a `jail`, ncu and the command run in it, and the command must close
    its standard output, on which ncu prints its table, before it runs untrusted code. `scratch` is
    the folder for temporary files, by default the system's. Raises
    InputError for wrong arguments, never for what the tool, the driver or the command did: the
    report says what is missing.
    """
    if launches is None and not bracketed:
        launches = LAUNCHES_OF_A_PROGRAM
    selection = _selection(bracketed=bracketed, kernels=kernels, skip=skip, launches=launches)
    if not command:
        raise InputError("there is no command to profile")
    tool = find_tool(TOOL)
    if tool is None:
        return empty_report("Nsight Compute (ncu) was not found on PATH or in a CUDA toolkit")
    deadline = time.monotonic() + timeout_s
    unknown: dict[str, str] = {}
    for _ in range(1 + _MOST_RETRIES):
        known = [name for name in metrics if name not in unknown]
        attempt = _attempt(
            [str(tool), *selection, "--metrics", ",".join(known)],
            command, env=env, cwd=cwd, timeout_s=deadline - time.monotonic(), metrics=known,
            jail=None if jail is None else with_tool(jail, tool), stop=stop, scratch=scratch,
        )  # fmt: skip
        unknown |= attempt.unknown
        late = time.monotonic() >= deadline or (stop is not None and stop.is_set())
        hopeless = len(unknown) == len(set(metrics)) or late
        if attempt.report.kernels or not attempt.unknown or hopeless:
            break
    missing = {**attempt.report.missing, **unknown}
    if launches is not None and len(attempt.report.kernels) >= launches:
        missing[LAUNCHES] = f"profiling stopped after {launches} launches; later ones are left out"
    return NcuReport(attempt.report.kernels, missing)


def _selection(
    *, bracketed: bool, kernels: Sequence[str], skip: int, launches: int | None
) -> list[str]:
    """The options that say which launches are profiled."""
    options = ["--profile-from-start", "off"] if bracketed else ["--target-processes", "all"]
    if kernels:
        options += ["--kernel-name", f"regex:^({'|'.join(map(_pattern, kernels))})$"]
    if skip < 0 or (launches is not None and launches < 1):
        raise InputError("skip cannot be negative, and launches must be at least 1")
    if skip:
        options += ["--launch-skip", str(skip)]
    if launches is not None:
        options += ["--launch-count", str(launches)]
    return options


def _pattern(kernel: str) -> str:
    """The regular expression for one kernel; ncu compares names without their namespaces."""
    try:
        re.compile(kernel)
    except re.error as error:
        raise InputError(f"kernel {kernel!r}: not a regular expression: {error}") from None
    if not kernel:
        raise InputError("a kernel's name cannot be empty")
    return kernel.rpartition("::")[2] if re.fullmatch(r"[\w:]+\w", kernel) else kernel


@dataclass(frozen=True, slots=True)
class _Attempt:
    report: NcuReport
    unknown: dict[str, str]
    """Metrics for which ncu refused the whole run, and its message."""


def _attempt(
    arguments: Sequence[str],
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    metrics: Sequence[str],
    jail: Jail | None,
    stop: threading.Event | None,
    scratch: Path | None,
) -> _Attempt:
    with tempfile.TemporaryDirectory(
        prefix="rooftree-ncu-", dir=scratch, ignore_cleanup_errors=True
    ) as name:
        folder = Path(name).resolve()
        log = folder / "report.csv"
        log.touch()
        asked = [*arguments, "--clock-control", "none", "--csv", "--page", "raw",
                 "--print-units", "base"]  # fmt: skip
        shown = {**allow_listed(env), "LC_ALL": "C"}
        left_s = max(0.0, timeout_s)
        if jail is None:
            ended = run_to_end(
                [*asked, "--log-file", str(log), *command], env=shown, cwd=cwd, folder=folder,
                timeout_s=left_s, stop=stop,
            )  # fmt: skip
        else:
            ended = run_jailed(
                [*asked, *command], jail=jail, env=shown, cwd=cwd, table=log, timeout_s=left_s,
                stop=stop,
            )  # fmt: skip
        with log.open(encoding="utf-8", errors="replace") as stream:
            parsed = parse_stream(stream, wanted=metrics)
        with log.open(encoding="utf-8", errors="replace") as stream:
            start = stream.read(_LISTING)
    messages = parsed.messages
    if (
        jail is None or not parsed.report.kernels
    ):  # otherwise ignore what an untrusted program printed
        messages = [*messages, *ended.output.splitlines()]
    own = failure_in(ended.output) if jail is not None and not parsed.report.kernels else None
    told = refusal(messages, printed=ended.output)
    problem = own or told or (f"ncu {ended.problem}" if ended.problem else None)
    if parsed.report.kernels:
        gaps = {**parsed.report.missing, **({TOOL: problem} if problem else {})}
        return _Attempt(NcuReport(parsed.report.kernels, gaps), {})
    reason = problem or no_kernel_profiled(start) or parsed.report.missing[TOOL]
    return _Attempt(empty_report(reason), unknown_metrics(messages, metrics))
