"""Read an ncu report file of the user: exported CSV, or Nsight Compute's own .ncu-rep.

A .ncu-rep is read with NVIDIA's own reader, the Python module `ncu_report`, or else by ncu itself.
Both run in separate processes, because both may abort or hang on a damaged file.
"""

from __future__ import annotations

import codecs
import json
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mcts.domain import Metric
from mcts.errors import InputError
from profilers.children.processes import child_environment
from profilers.children.supervised import Ended, run_to_end
from profilers.compiling.toolchain import find_tool
from profilers.kernel_names import bare_name
from profilers.ncu.messages import refusal
from profilers.ncu.metrics import COLLECTED
from profilers.ncu.pages import parse_stream
from profilers.ncu.report import (
    LAUNCHES,
    MOST_LAUNCHES,
    TOOL,
    Gaps,
    NcuKernel,
    NcuReport,
    empty_report,
)
from profilers.ncu.values import in_base_unit

LARGEST_FILE = 2**30
"""Bytes of the largest report that is read."""
IMPORT_DEADLINE_S = 120.0
_MODULE_ABSENT, _TOOL_ABSENT = "there is no Python module ncu_report", "there is no ncu"
_BINARY = (".ncu-rep", ".ncu-repz")
_IMPORT = ("--csv", "--page", "raw", "--print-units", "base")


def read_report(path: Path, *, wanted: Iterable[str] = COLLECTED) -> NcuReport:
    """The launches in a .csv (raw or details page) or .ncu-rep file.

    InputError if it is neither, cannot be read, or holds no launch.
    """
    names = tuple(dict.fromkeys(wanted))
    try:
        _check(path)
        if path.suffix.lower() in _BINARY:
            return _read_binary(path, names)
        report = _read_csv(path, names)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if report.kernels:
        return report
    raise InputError(
        f"{path}: {report.missing[TOOL]}; give the output of `ncu --csv --page raw` "
        "or `--page details`"
    )


def _check(path: Path) -> None:
    if path.suffix.lower() not in (".csv", *_BINARY):
        raise InputError(f"{path}: neither a .csv nor a .ncu-rep file of Nsight Compute")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    size = path.stat().st_size
    if size == 0:
        raise InputError(f"{path}: the file is empty")
    if size > LARGEST_FILE:
        raise InputError(f"{path}: larger than {LARGEST_FILE >> 20} MiB; profile fewer kernels")


def _read_csv(path: Path, wanted: Iterable[str]) -> NcuReport:
    """`parse_csv` of a file of any size, in UTF-8, or in UTF-16 with a byte order mark."""
    with path.open("rb") as binary:
        mark = binary.read(2)
    utf16 = mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # what PowerShell's `>` writes
    with path.open(encoding="utf-16" if utf16 else "utf-8-sig", errors="replace") as stream:
        report, messages = parse_stream(stream, wanted=wanted)
    reason = None if report.kernels else refusal(messages)
    return report if reason is None else empty_report(reason)


def _read_binary(path: Path, wanted: tuple[str, ...]) -> NcuReport:
    """Try NVIDIA's module, then ncu; InputError with what each of them said."""
    messages: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rooftree-ncu-", ignore_cleanup_errors=True) as name:
        for read in (_through_module, _through_tool):
            report = read(path.resolve(), Path(name).resolve(), wanted)
            if report is not None and report.kernels:
                return report
            if report is not None:
                messages.append(report.missing[TOOL])
    if messages:
        raise InputError(f"{path}: cannot be read, it may be damaged ({'; '.join(messages)})")
    example = shlex.join([TOOL, "--import", path.name, *_IMPORT])
    raise InputError(
        f"{path}: reading .ncu-rep needs NVIDIA's reader (`pip install ncu-report`) or Nsight "
        f"Compute's ncu on PATH; or export it where ncu is: {example} > report.csv"
    )


def _through_module(path: Path, folder: Path, wanted: tuple[str, ...]) -> NcuReport | None:
    """The report as read by the module; None if there is no such module."""
    spec, out = folder / "spec.json", folder / "launches.jsonl"
    task = {"report": str(path), "out": str(out), "wanted": wanted, "most": MOST_LAUNCHES}
    spec.write_text(json.dumps({**task, "folders": [str(one) for one in module_folders()]}))
    ended = _run([sys.executable, "-m", "profilers.ncu.report_reader", str(spec)], folder)
    if ended.problem:
        return empty_report(f"NVIDIA's reader {ended.problem}")
    if not out.is_file():
        return None
    with out.open() as stream:
        return _assembled(json.loads(line) for line in stream)


def _assembled(lines: Iterable[dict[str, Any]]) -> NcuReport:
    gaps, kernels, left_out = Gaps(), [], 0
    for line in lines:
        left_out += line.get("left_out", 0)
        if "name" not in line:
            continue
        metrics: dict[str, Metric] = {}
        for name, (value, unit) in line["metrics"].items():
            found = in_base_unit(name, value, unit)
            if isinstance(found, Metric):
                metrics[name] = found
            else:
                gaps.add(name, found)
        for name, reason in line["missing"].items():
            gaps.add(name, reason)
        kernels.append(NcuKernel(bare_name(line["name"]), metrics))
    if not kernels:
        return empty_report("NVIDIA's reader finds no kernel in it")
    missing = dict(gaps.reasons(len(kernels)))
    if left_out:
        missing[LAUNCHES] = f"only the first {MOST_LAUNCHES} launches were read"
    return NcuReport(tuple(kernels), missing)


def _through_tool(path: Path, folder: Path, wanted: tuple[str, ...]) -> NcuReport | None:
    """The report as printed by ncu; None if there is no ncu."""
    tool = find_tool(TOOL)
    if tool is None:
        return None
    table = folder / "report.csv"
    table.touch()
    redirect = f'exec "$0" "$@" > {table.name}'
    ended = _run(["/bin/sh", "-c", redirect, str(tool), "--import", str(path), *_IMPORT], folder)
    report = _read_csv(table, wanted)
    if ended.problem is None:
        return report
    said = [*filter(None, [report.missing.get(TOOL)]), f"ncu {ended.problem}"]
    return NcuReport(report.kernels, {**report.missing, TOOL: "; ".join(said)})


def _run(command: Sequence[str], folder: Path) -> Ended:
    """Run a reader with a plain locale, so that numbers are printed the same way everywhere."""
    return run_to_end(
        command, env={**child_environment(), "LC_ALL": "C"}, cwd=folder, folder=folder,
        timeout_s=IMPORT_DEADLINE_S,
    )  # fmt: skip


def module_folders() -> Iterator[Path]:
    """Folders in which Nsight Compute keeps its `ncu_report` module, the found ncu's first."""
    roots: list[Path] = []
    if tool := find_tool(TOOL):
        # ncu may be a link or a wrapper in bin/, or lie deep in the package's target folder.
        roots += [*tool.resolve().parents][:4]
        roots += sorted(tool.resolve().parent.parent.glob("nsight-compute-*"), reverse=True)
    roots += sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    roots += sorted(Path("/usr/local").glob("cuda*/nsight-compute-*"), reverse=True)
    for root in dict.fromkeys(roots):
        folder = root / "extras" / "python"
        if (folder / "ncu_report.py").is_file() or (folder / "ncu_report").is_dir():
            yield folder
