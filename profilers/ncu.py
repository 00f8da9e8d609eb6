"""Nsight Compute: run it over a command, read its CSV.

Counters may be refused, the tool absent, a kernel too large to replay: these are normal states of
the world. They end up as named gaps in the report, never as an exception and never as a zero.
"""

from __future__ import annotations

import contextlib
import csv
import math
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcts.domain import Metric
from profilers.metrics import COLLECTED
from profilers.toolchain import find_tool

TOOL = "ncu"
"""Key in `NcuReport.missing` for what concerns the whole run."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ABOUT_LAUNCH = frozenset(
    {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
     "Block Size", "Grid Size", "Device", "CC", "thread Domain:Push/Pop_Range:PL_Type:PL_Value",
     "Id:Domain:Start/Stop_Range:PL_Type:PL_Value"}
)  # fmt: skip
_BASE_UNITS: dict[str, tuple[str, float]] = {
    "us": ("ns", 1e3), "usecond": ("ns", 1e3), "ms": ("ns", 1e6), "msecond": ("ns", 1e6),
    "s": ("ns", 1e9), "second": ("ns", 1e9), "nsecond": ("ns", 1.0),
    "Kbyte": ("byte", 1e3), "Mbyte": ("byte", 1e6), "Gbyte": ("byte", 1e9), "Tbyte": ("byte", 1e12),
    "Ksector": ("sector", 1e3), "Msector": ("sector", 1e6),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NcuKernel:
    """One profiled launch: the kernel's bare name and its counters in base units."""

    name: str
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class NcuReport:
    """Profiled launches in launch order. `missing` says what is not known, and why."""

    kernels: tuple[NcuKernel, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


def collect(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    metrics: Sequence[str] = COLLECTED,
) -> NcuReport:
    """Run `command` under ncu and read the counters of what it launches.

    The command brackets what is to be profiled with cuProfilerStart and cuProfilerStop. `env` is
    the command's whole environment. Past `timeout_s` the whole process group is killed. Never
    raises for what the tool, the driver or the command did: the report says what is missing.
    """
    tool = find_tool(TOOL)
    if tool is None:
        return _nothing("Nsight Compute (ncu) was not found on PATH or in a CUDA toolkit")
    with tempfile.TemporaryDirectory(prefix="rooftree-ncu-") as folder:
        log = Path(folder) / "report.csv"
        arguments = [
            str(tool), "--clock-control", "none", "--csv", "--page", "raw",
            "--print-units", "base", "--profile-from-start", "off",
            "--metrics", ",".join(metrics), "--log-file", str(log), *command,
        ]  # fmt: skip
        output, problem = _run(arguments, env=env, cwd=cwd, timeout_s=timeout_s)
        text = log.read_text(errors="replace") if log.is_file() else ""
    report = _only(parse_csv(text, expected=metrics), metrics)
    problem = _refusal(text + "\n" + output) or problem
    if report.kernels:
        return NcuReport(report.kernels, {**report.missing, **({TOOL: problem} if problem else {})})
    return _nothing(problem or report.missing.get(TOOL) or "ncu profiled no kernel")


def _only(report: NcuReport, metrics: Sequence[str]) -> NcuReport:
    """The report less the hundreds of device attributes that ncu prints unasked."""
    wanted = {*metrics, TOOL}
    kernels = tuple(
        NcuKernel(kernel.name, {k: v for k, v in kernel.metrics.items() if k in wanted})
        for kernel in report.kernels
    )
    return NcuReport(kernels, {k: v for k, v in report.missing.items() if k in wanted})


def _nothing(reason: str) -> NcuReport:
    return NcuReport((), {TOOL: reason})


def _run(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float
) -> tuple[str, str | None]:
    """The output of `arguments`, and in one sentence what went wrong if anything did."""
    try:
        process = subprocess.Popen(
            arguments, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return "", f"ncu could not be started: {error.strerror or error}"
    try:
        output, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill_group(process)
        output, _ = process.communicate()
        return output, f"ncu was stopped after {timeout_s:g} s"
    except BaseException:
        _kill_group(process)
        process.communicate()
        raise
    if process.returncode != 0:
        return output, f"ncu ended with status {process.returncode}: {_last_line(output)}"
    return output, None


def _kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


def _refusal(text: str) -> str | None:
    """ncu's own words for a run that yields no counters, as one sentence."""
    if "ERR_NVGPUCTRPERM" in text:
        return (
            "the driver refuses hardware counters to this user (ERR_NVGPUCTRPERM); "
            "run as root or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        )
    found = re.search(r"==ERROR==\s*(.+)", text)
    return f"ncu says: {found.group(1).strip()[:200]}" if found else None


def parse_csv(text: str, *, expected: Iterable[str] = ()) -> NcuReport:
    """Read what `ncu --csv --page raw` printed, tool chatter and all.

    Only values that can be read are returned: `n/a`, text, NaN and infinities are named in
    `missing`, and so is each of `expected` that has no column. A row cut short keeps what stood
    before the cut. Pure, and never raises.
    """
    rows = [row for line in text.splitlines() if (row := _row(line)) is not None]
    start = next((i for i, row in enumerate(rows) if {"ID", "Kernel Name"} <= set(row)), None)
    if start is None:
        return _nothing("ncu printed no table")
    header = rows[start]
    body = rows[start + 1 :]
    names = [name for name in header if name and name not in _ABOUT_LAUNCH]
    missing = {name: "no column in ncu's report" for name in expected if name not in names}
    id_at, name_at = header.index("ID"), header.index("Kernel Name")
    units: dict[str, str] = {}
    kernels: list[NcuKernel] = []
    for row in body:
        if len(row) <= max(id_at, name_at):
            continue
        if not row[id_at]:
            units = dict(zip(header, row, strict=False))
        elif _number(row[id_at]) is not None and row[name_at]:
            kernel = NcuKernel(_bare_name(row[name_at]), {})
            _fill(kernel, zip(header, row, strict=False), units, missing)
            for name in header[len(row) :]:
                missing.setdefault(name, "the row was cut short")
            kernels.append(kernel)
    if not kernels:
        missing[TOOL] = "ncu's table has no kernel"
    return NcuReport(tuple(kernels), missing)


def _row(line: str) -> list[str] | None:
    """The fields of a CSV line, less a last one that was cut off; None for chatter."""
    if not line.startswith('"'):
        return None
    try:
        fields = next(csv.reader([line]), [])
    except csv.Error:
        return None
    return fields if line.rstrip().endswith('"') and len(line.rstrip()) > 1 else fields[:-1]


def _fill(
    kernel: NcuKernel,
    cells: Iterable[tuple[str, str]],
    units: Mapping[str, str],
    missing: dict[str, str],
) -> None:
    for name, cell in cells:
        if not name or name in _ABOUT_LAUNCH:
            continue
        value = _number(cell)
        if value is None:
            missing.setdefault(
                name, f"ncu printed {cell[:40]!r}" if cell else "ncu printed nothing"
            )
            continue
        unit, factor = _BASE_UNITS.get(units.get(name, ""), (units.get(name, ""), 1.0))
        kernel.metrics[name] = Metric(value=value * factor, unit=unit)


def _number(cell: str) -> float | None:
    cell = cell.strip()
    if not _NUMBER.fullmatch(cell):
        return None
    value = float(cell.replace(",", ""))
    return value if math.isfinite(value) else None


def _bare_name(printed: str) -> str:
    """`void copy<float>(const float *)` is `copy`, as a launch plan spells it."""
    name = re.split(r"[<(]", printed.replace("(anonymous namespace)::", ""), maxsplit=1)[0]
    return name.split()[-1] if name.split() else printed
