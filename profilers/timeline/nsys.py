"""Nsight Systems: run it on a program, and read its reports.

nsys may be absent, a minimal install cannot convert its recording to a report, the program may fail
or hang: these are normal states of the world and are reported as missing, with a reason. nsys
stores the whole environment of the program, so only allow-listed variables ever reach it, and all
its files are deleted once they are read.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcts.errors import InputError
from profilers.children.processes import allow_listed, child_environment
from profilers.children.supervised import describe_status, last_lines, run_to_end
from profilers.compiling.toolchain import find_tool
from profilers.timeline.activities import TimelineReport
from profilers.timeline.nsys_sqlite import read_sqlite

TOOL, PROGRAM = "nsys", "program"
"""Keys in `TimelineReport.missing`: why there is no recording, and how the program failed."""
IMPORTER = "QdstrmImporter"
_REPORTS = (".nsys-rep", ".qdrep")
_STREAM = ".qdstrm"
_CONVERT_S = 180.0
# nsys does not return the program's exit status in every version, so a shell writes it to a file.
_WRITE_STATUS = 'note=$1; shift; "$@"; code=$?; echo "$code" > "$note"; exit "$code"'
_TOOL_OUTPUT = (
    "Collecting data",
    "Generating '",
    "Generated:",
    "Processing [",
    "WARNING:",
    "Importer ",
)

Progress = Callable[[str], None]


def profile_program(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path,
    timeout_s: float,
    on_progress: Progress | None = None,
) -> TimelineReport:
    """Run `command` under nsys and read what its processes did on the device.

    Of `env` (default: this process's environment) only allow-listed variables reach the program.
    Past `timeout_s` everything is killed. Never raises because of the tool or the program: the
    report says what is missing, and under `PROGRAM` how the program failed.
    """
    say = on_progress or _no_progress
    tool = find_tool(TOOL)
    if tool is None:
        return _empty_report(
            "Nsight Systems (nsys) was not found on PATH, in a toolkit or with ncu"
        )
    variables = child_environment() if env is None else allow_listed(env)
    with tempfile.TemporaryDirectory(prefix="rooftree-nsys-", ignore_cleanup_errors=True) as name:
        nsys = _Nsys(tool, Path(name).resolve(), variables)
        say("running the program under nsys")
        ended = nsys.record(command, cwd=cwd, timeout_s=timeout_s)
        try:
            report = nsys.read(say) if ended.problem is None else _empty_report(ended.problem)
        except _Unreadable as problem:
            report = _empty_report(str(problem))
        told = {**report.missing, **({PROGRAM: ended.program} if ended.program else {})}
        return TimelineReport(report.activities, report.api_calls, told)


def read_report(path: Path) -> TimelineReport:
    """Read a report of nsys: an SQLite export, a .nsys-rep, or a .qdstrm of raw events.

    The latter two are converted with nsys first; if that is not possible, `missing` says why.
    Raises InputError if the file is none of these or is damaged.
    """
    suffix = path.suffix.lower()
    if suffix not in (".sqlite", _STREAM, *_REPORTS):
        raise InputError(f"{path} is no report of Nsight Systems (.nsys-rep, .qdstrm, .sqlite)")
    if not path.is_file():
        raise InputError(f"{path} is no file")
    if suffix == ".sqlite":
        return read_sqlite(path)
    tool = find_tool(TOOL)
    if tool is None:
        return _empty_report(
            f"Nsight Systems (nsys) was not found, and only it reads {path.name}: on a machine "
            "that has it run nsys export --type sqlite"
        )
    with tempfile.TemporaryDirectory(prefix="rooftree-nsys-", ignore_cleanup_errors=True) as name:
        nsys = _Nsys(tool, Path(name).resolve(), child_environment())
        # The importer writes beside its input, which may be in somebody else's folder.
        (nsys.folder / f"report{suffix}").symlink_to(path.resolve())
        try:
            return nsys.read(_no_progress)
        except _Unreadable as problem:
            return _empty_report(str(problem))


def _empty_report(reason: str) -> TimelineReport:
    return TimelineReport(missing={TOOL: reason})


def _no_progress(_text: str) -> None:
    return None


class _Unreadable(Exception):
    """The recording cannot be read; the text is the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class _Recording:
    """What went wrong with nsys, and with the program; None if nothing did."""

    problem: str | None = None
    program: str | None = None


@dataclass(frozen=True, slots=True)
class _Nsys:
    """nsys in a private folder, with an allow-listed environment."""

    tool: Path
    folder: Path
    env: Mapping[str, str]

    def record(self, command: Sequence[str], *, cwd: Path, timeout_s: float) -> _Recording:
        """Profile `command`; failures of the program and of nsys are reported separately."""
        note = self.folder / "status"
        ended = run_to_end(
            [
                str(self.tool), "profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none",
                "--cuda-graph-trace=node", "--wait=primary", "--force-overwrite=true",
                f"--output={self.folder / 'report'}",
                "/bin/sh", "-c", _WRITE_STATUS, "sh", str(note), *command,
            ],
            env=self.env, cwd=cwd, folder=self._scratch(), timeout_s=timeout_s,
        )  # fmt: skip
        if ended.stopped:
            return _Recording(f"nsys {ended.problem}", ended.problem)
        status = note.read_text(errors="replace").strip() if note.is_file() else ""
        program = None
        if status.isdecimal() and int(status):
            said = last_lines(_program_output(ended.output))
            program = ": ".join(filter(None, [describe_status(int(status)), said]))
        if self._find(*_REPORTS, _STREAM) is not None:
            return _Recording(program=program)
        return _Recording(f"nsys {ended.problem or 'recorded nothing'}", program)

    def read(self, say: Progress) -> TimelineReport:
        """Read the timeline from the files in the folder; raises _Unreadable if there is none."""
        report = self._find(*_REPORTS)
        if report is None:
            say("importing what nsys recorded")
            report = self._imported()
        say("exporting the report of nsys")
        export = self.folder / "export.sqlite"
        ended = self._convert(
            str(self.tool), "export", "--type=sqlite", "--force-overwrite=true",
            f"--output={export}", str(report),
        )  # fmt: skip
        if not export.is_file():
            raise _Unreadable(f"nsys export {ended or 'wrote nothing'}")
        try:
            return read_sqlite(export)
        except InputError as error:
            raise _Unreadable(f"the export of nsys cannot be read: {error}") from None

    def _imported(self) -> Path:
        """Convert raw events to a report with the importer, which a minimal nsys does not run."""
        events = self._find(_STREAM)
        importer = self._importer()
        if events is None or importer is None:
            raise _Unreadable(
                f"this nsys only records raw events, and {IMPORTER}, which makes a report of "
                "them, was not found: install Nsight Systems in full"
            )
        made = self.folder / "imported.nsys-rep"
        problem = self._convert(str(importer), "-i", str(events), "-o", str(made))
        report = self._find(*_REPORTS)
        if report is None:
            raise _Unreadable(f"{IMPORTER} {problem or 'wrote nothing'}")
        return report

    def _convert(self, *command: str) -> str | None:
        """Run a conversion; returns what went wrong as the end of a sentence about the tool."""
        ended = run_to_end(
            command, env={**self.env, "LC_ALL": "C"}, cwd=self.folder, folder=self._scratch(),
            timeout_s=_CONVERT_S,
        )  # fmt: skip
        if ended.lacks:
            return (
                f"lacks the library {ended.lacks}: install the packages libdw1 and libelf1, or "
                "name their folder in LD_LIBRARY_PATH"
            )
        return ended.problem

    def _importer(self) -> Path | None:
        """The importer of this installation, or else any that is found."""
        beside = self.tool.resolve().parent.parent.glob(f"*/{IMPORTER}")
        return next((path for path in sorted(beside) if os.access(path, os.X_OK)), None) or (
            find_tool(IMPORTER)
        )

    def _scratch(self) -> Path:
        """The folder for nsys's temporary files, apart from its results."""
        folder = self.folder / "scratch"
        folder.mkdir(exist_ok=True)
        return folder

    def _find(self, *suffixes: str) -> Path | None:
        """The largest file with one of the suffixes."""
        found = [path for path in self.folder.iterdir() if path.suffix in suffixes]
        return max(found, key=lambda path: path.stat().st_size, default=None)


def _program_output(output: str) -> str:
    lines = [line for line in output.splitlines() if not line.lstrip().startswith(_TOOL_OUTPUT)]
    return "\n".join(line for line in lines if "/report." not in line)
