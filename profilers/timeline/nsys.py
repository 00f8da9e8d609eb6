"""Nsight Systems: run it over a program, read the reports it makes.

nsys may be absent, a minimal install cannot make a report of what it recorded, the program may
fail or hang: these are normal states of the world and end up as named gaps in the report. nsys
keeps the whole environment of what it profiles, so only allow-listed variables ever reach it, and
all that it writes is deleted once it is read.
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
"""Keys in `TimelineReport.missing` for the recording as a whole, and for how the program ended."""
IMPORTER = "QdstrmImporter"
_REPORTS = (".nsys-rep", ".qdrep")
_STREAM = ".qdstrm"
_CONVERT_S = 180.0
# nsys's exit status is not the program's in every version, so a shell notes it.
_NOTE_STATUS = 'note=$1; shift; "$@"; code=$?; echo "$code" > "$note"; exit "$code"'
_CHATTER = (
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
    Past `timeout_s` everything is killed. Never raises for what the tool or the program did: the
    report says what is missing, under `PROGRAM` how a program that failed ended.
    """
    say = on_progress or _silent
    tool = find_tool(TOOL)
    if tool is None:
        return _nothing("Nsight Systems (nsys) was not found on PATH, in a toolkit or with ncu")
    variables = child_environment() if env is None else allow_listed(env)
    with tempfile.TemporaryDirectory(prefix="rooftree-nsys-", ignore_cleanup_errors=True) as name:
        nsys = _Nsys(tool, Path(name).resolve(), variables)
        say("running the program under nsys")
        ended = nsys.record(command, cwd=cwd, timeout_s=timeout_s)
        try:
            report = nsys.read(say) if ended.problem is None else _nothing(ended.problem)
        except _Unreadable as problem:
            report = _nothing(str(problem))
        told = {**report.missing, **({PROGRAM: ended.program} if ended.program else {})}
        return TimelineReport(report.activities, report.api_calls, told)


def read_report(path: Path) -> TimelineReport:
    """What a report of nsys holds: an SQLite export, a .nsys-rep, or a .qdstrm of raw events.

    The latter two are converted with nsys first; where that cannot be done `missing` says why.
    Raises InputError where the file is none of these or is damaged.
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
        return _nothing(
            f"Nsight Systems (nsys) was not found, and only it reads {path.name}: on a machine "
            "that has it run nsys export --type sqlite"
        )
    with tempfile.TemporaryDirectory(prefix="rooftree-nsys-", ignore_cleanup_errors=True) as name:
        nsys = _Nsys(tool, Path(name).resolve(), child_environment())
        # The importer writes beside what it reads, which may be anybody's folder.
        (nsys.folder / f"report{suffix}").symlink_to(path.resolve())
        try:
            return nsys.read(_silent)
        except _Unreadable as problem:
            return _nothing(str(problem))


def _nothing(reason: str) -> TimelineReport:
    return TimelineReport(missing={TOOL: reason})


def _silent(_text: str) -> None:
    return None


class _Unreadable(Exception):
    """No timeline could be had of what was recorded; the text is the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class _Recording:
    """What went wrong with nsys, and with the program, where anything did."""

    problem: str | None = None
    program: str | None = None


@dataclass(frozen=True, slots=True)
class _Nsys:
    """nsys at work in a private folder, with an allow-listed environment."""

    tool: Path
    folder: Path
    env: Mapping[str, str]

    def record(self, command: Sequence[str], *, cwd: Path, timeout_s: float) -> _Recording:
        """Profile `command`; how the program ended is told apart from how nsys did."""
        note = self.folder / "status"
        ended = run_to_end(
            [
                str(self.tool), "profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none",
                "--cuda-graph-trace=node", "--wait=primary", "--force-overwrite=true",
                f"--output={self.folder / 'report'}",
                "/bin/sh", "-c", _NOTE_STATUS, "sh", str(note), *command,
            ],
            env=self.env, cwd=cwd, folder=self._scratch(), timeout_s=timeout_s,
        )  # fmt: skip
        if ended.stopped:
            return _Recording(f"nsys {ended.problem}", ended.problem)
        status = note.read_text(errors="replace").strip() if note.is_file() else ""
        program = None
        if status.isdecimal() and int(status):
            said = last_lines(_without_chatter(ended.output))
            program = ": ".join(filter(None, [describe_status(int(status)), said]))
        if self._find(*_REPORTS, _STREAM) is not None:
            return _Recording(program=program)
        return _Recording(f"nsys {ended.problem or 'recorded nothing'}", program)

    def read(self, say: Progress) -> TimelineReport:
        """The timeline in what the folder holds; _Unreadable where there is none."""
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
        """The report that the importer makes of raw events: a minimal nsys does not do it."""
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
        """Run a conversion; what went wrong, as the end of a sentence about the tool."""
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
        """The importer of this very installation, else any."""
        beside = self.tool.resolve().parent.parent.glob(f"*/{IMPORTER}")
        return next((path for path in sorted(beside) if os.access(path, os.X_OK)), None) or (
            find_tool(IMPORTER)
        )

    def _scratch(self) -> Path:
        """Where nsys keeps files while it works: not among what it hands over."""
        folder = self.folder / "scratch"
        folder.mkdir(exist_ok=True)
        return folder

    def _find(self, *suffixes: str) -> Path | None:
        """The largest file of such a kind."""
        found = [path for path in self.folder.iterdir() if path.suffix in suffixes]
        return max(found, key=lambda path: path.stat().st_size, default=None)


def _without_chatter(output: str) -> str:
    lines = [line for line in output.splitlines() if not line.lstrip().startswith(_CHATTER)]
    return "\n".join(line for line in lines if "/report." not in line)
