"""A program of the user's, run as it is: its timeline, then counters of its longest kernels.

A Python program records its own timeline through CUPTI if it can, which tells the kernels of
libraries from others; any other program, and Python without CUPTI, runs under nsys.

It runs with the user's rights but not the user's keys: its environment is an allow-list, its input
is empty, and a deadline ends it with all processes it started.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.inspect.kernel_profiles import distinct_kernels, timed_kernels
from experiments.inspect.machine_code import code_of, coded_kernels, read_binary
from experiments.inspect.recordings import ARGUMENTS
from experiments.text.words import clean
from mcts.domain import Hardware, KernelProfile, Profile, Scalar
from mcts.errors import InputError, WorldError
from mcts.text import cut

if TYPE_CHECKING:
    from profilers.ncu import NcuReport
    from profilers.profiles.inspecting import Inspected
    from profilers.timeline import Source
    from profilers.timeline.activities import TimelineReport

MOST_KERNELS = 3
"""Kernels put under the counters, those that take longest: each costs a run of the program."""
_SLOWER = 5.0
"""Under a profiler a program takes longer than by itself; its deadline is so many times later."""
_MOST_TOLD = 300

Progress = Callable[[str], None]


def key_values(values: Mapping[str, Scalar], args: Sequence[str]) -> dict[str, Scalar]:
    """What a recording of a program goes by: its macros, and its arguments if it has any."""
    return {**values, **({ARGUMENTS: shlex.join(args)} if args else {})}


def device_arch(device: int) -> str:
    """What to build for, to run on this machine's GPU."""
    from profilers.compiling.compiler import architecture
    from profilers.hardware.device import find_gpu

    return architecture(find_gpu(device).compute_capability)


def measure(
    executable: Path, args: Sequence[str], *, device: int, timeout_s: float, on_progress: Progress
) -> Inspected:
    """Run the program by itself, under nsys, and under ncu.

    Raises InputError if it fails by itself or launches no kernel.
    """
    command = (str(executable.absolute()), *args)
    run = Run(command, _environment(device), Path.cwd(), timeout_s)
    seen = _measured(run, device, on_progress)
    return replace(seen, profile=_with_code(seen.profile, executable))


def measure_script(
    script: Path, args: Sequence[str], *, device: int, timeout_s: float, on_progress: Progress
) -> Inspected:
    """The same of a Python program, run by the interpreter that runs us."""
    from profilers.profiles.profiling import SASS

    command = (sys.executable, str(script.absolute()), *args)
    run = Run(command, _environment(device), Path.cwd(), timeout_s, script=script.absolute())
    seen = _measured(run, device, on_progress)
    missing = {SASS: "the machine code of a Python program's kernels is not looked for"}
    profile = seen.profile
    return replace(
        seen, profile=profile.model_copy(update={"missing": {**profile.missing, **missing}})
    )


def _measured(run: Run, device: int, say: Progress) -> Inspected:
    from profilers.profiles.inspecting import Inspected, Inspector

    with Inspector(device=device, on_progress=say) as inspector:
        say(f"running {run.name}")
        run.unprofiled()
        hardware = inspector.hardware
        say("recording its timeline")
        return Inspected(profile=_profile(run, hardware, say))


def _environment(device: int) -> dict[str, str]:
    """The allow-list; a device other than the first becomes the only one the program sees."""
    from profilers.children.processes import child_environment

    environment = child_environment()
    if device:
        shown = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        environment["CUDA_VISIBLE_DEVICES"] = shown[device] if shown else str(device)
    return environment


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a run did on the device, who saw it, and its kernels' full names, if they are known."""

    report: TimelineReport
    source: Source
    full_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """How the program is started, by itself or under a profiler; `script` if it is Python."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    timeout_s: float
    script: Path | None = None

    @property
    def name(self) -> str:
        """As messages call it."""
        return (self.script or Path(self.command[0])).name

    def unprofiled(self) -> None:
        """Run it once. InputError, in one line, if it hangs, crashes or fails."""
        from profilers.children.supervised import run_to_end

        with tempfile.TemporaryDirectory(prefix="rooftree-run-") as folder:
            ended = run_to_end(
                self.command, env=self.env, cwd=self.cwd, folder=Path(folder),
                timeout_s=self.timeout_s,
            )  # fmt: skip
        if ended.problem is not None:
            longer = ": give it longer with --timeout-s" if ended.stopped else ""
            raise InputError(f"{self.name} {cut(clean(ended.problem), _MOST_TOLD)}{longer}")

    def timeline(self) -> Timeline:
        """By CUPTI in a Python program itself; by nsys in any other, and where CUPTI saw nothing,
        as what launches may be another process."""
        from profilers.timeline.nsys import TOOL, profile_program

        own = self._recording_itself(self.script) if self.script is not None else None
        if isinstance(own, Timeline) and own.report.activities:
            return own
        report = profile_program(
            self.command, env=self.env, cwd=self.cwd, timeout_s=_SLOWER * self.timeout_s
        )
        if TOOL in report.missing:
            if isinstance(own, Timeline):
                return own
            if own is not None:
                report.missing[TOOL] = f"{own}; {report.missing[TOOL]}"
        return Timeline(report, "nsys")

    def _recording_itself(self, script: Path) -> Timeline | str:
        """The timeline, or in a sentence why there is none."""
        from profilers.children.supervised import last_lines, run_to_end
        from profilers.timeline import python_program
        from profilers.timeline.cupti import NO_CUPTI

        python, _, *args = self.command
        with tempfile.TemporaryDirectory(prefix="rooftree-run-") as folder:
            out = Path(folder) / "timeline.json"
            ended = run_to_end(
                python_program.command(python, out, script, args), env=self.env, cwd=self.cwd,
                folder=Path(folder), timeout_s=_SLOWER * self.timeout_s,
            )  # fmt: skip
            if not out.is_file():
                said = last_lines(ended.output, 1) if ended.code == NO_CUPTI else ""
                return said or f"recording itself the program {ended.problem or 'told nothing'}"
            try:
                record = python_program.from_json(json.loads(out.read_text()))
            except (KeyError, TypeError, ValueError, AttributeError):
                return "what the program recorded cannot be read"
        return Timeline(record.report, "cupti", record.full_names)

    def counters(self, kernel: KernelProfile) -> NcuReport:
        """The counters of one launch of `kernel`, from the middle of the run."""
        return self._under_ncu(kernels=[kernel.name], skip=kernel.launches // 2, launches=1)

    def first_counters(self) -> NcuReport:
        """The counters of the first launches, whatever they are."""
        return self._under_ncu()

    def _under_ncu(self, **which: Any) -> NcuReport:
        from profilers.ncu import LAUNCHES, NcuReport, collect

        report = collect(
            self.command, env=self.env, cwd=self.cwd, timeout_s=_SLOWER * self.timeout_s,
            bracketed=False, **which,
        )  # fmt: skip
        missing = dict(report.missing)
        if "launches" in which:
            missing.pop(LAUNCHES, None)  # no more were wanted
        return NcuReport(report.kernels, missing)


def _profile(run: Run, hardware: Hardware, say: Progress) -> Profile:
    """Timeline first: it tells which kernels are worth the counters."""
    from profilers.timeline import summarise

    timeline = run.timeline()
    recorded = timeline.report
    missing = dict(recorded.missing)
    facts = summarise(recorded.activities, recorded.api_calls, source=timeline.source)
    if facts is None and not missing:
        raise InputError(f"{run.name} launched nothing on the device")
    if facts is None:
        say("reading counters of its first kernels")
        counted = run.first_counters()
        kernels, gaps = distinct_kernels(counted.kernels), counted.missing
    else:
        kernels = timed_kernels(recorded.activities)
        kernels[:MOST_KERNELS], gaps = _counted(run, kernels[:MOST_KERNELS], say)
        kernels = [_named(kernel, timeline.full_names) for kernel in kernels]
        if len(kernels) > MOST_KERNELS:
            rest = len(kernels) - MOST_KERNELS
            missing["counters of other kernels"] = f"{rest} that take less were timed only"
    missing |= gaps
    return Profile(kernels=tuple(kernels), timeline=facts, hardware=hardware, missing=missing)


def _named(kernel: KernelProfile, full_names: Mapping[str, str]) -> KernelProfile:
    """A library's kernel as such, by its full name: the last word of it tells nobody anything."""
    from profilers.kernelbench.judge.libraries import is_library
    from profilers.profiles.launches import shown_name

    full = full_names.get(kernel.name)
    if full is None or not is_library(full):
        return kernel
    return kernel.model_copy(update={"name": shown_name(full), "library": True})


def _counted(
    run: Run, kernels: Sequence[KernelProfile], say: Progress
) -> tuple[list[KernelProfile], dict[str, str]]:
    """`kernels` with their counters as far as they could be read, and what could not."""
    found: list[KernelProfile] = []
    missing: dict[str, str] = {}
    for kernel in kernels:
        say(f"reading counters of {clean(kernel.name)}")
        report = run.counters(kernel)
        missing |= report.missing
        metrics = report.kernels[0].metrics if report.kernels else kernel.metrics
        found.append(kernel.model_copy(update={"metrics": metrics}))
    return found, missing


def _with_code(profile: Profile, executable: Path) -> Profile:
    """`profile` with the machine code of its kernels, as far as it is in the executable."""
    from profilers.profiles.profiling import SASS

    arch = (profile.hardware.compute_capability or "").replace(".", "") if profile.hardware else ""
    try:
        code = read_binary(executable, prefer=f"sm_{arch}" if arch else None)
    except WorldError as error:
        return profile.model_copy(update={"missing": {**profile.missing, SASS: str(error)}})
    if not profile.kernels:
        return profile.model_copy(update={"kernels": tuple(coded_kernels(code)[:MOST_KERNELS])})
    kernels = tuple(
        kernel.model_copy(update={"sass": code_of(kernel, code)}) for kernel in profile.kernels
    )
    lost = [clean(kernel.name) for kernel in kernels[:MOST_KERNELS] if kernel.sass is None]
    missing = dict(profile.missing)
    if lost:
        missing[SASS] = f"the executable holds no machine code that is clearly {', '.join(lost)}'s"
    return profile.model_copy(update={"kernels": kernels, "missing": missing})
