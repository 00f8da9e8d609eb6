"""A program of the user's, run as it is: its timeline, then counters of its longest kernels.

It runs with the user's rights but not the user's keys: its environment is an allow-list, its input
is empty, and a deadline ends it with all processes it started.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    from profilers.profiles.inspecting import Inspected, Inspector

    run = Run((str(executable.absolute()), *args), _environment(device), Path.cwd(), timeout_s)
    with Inspector(device=device, on_progress=on_progress) as inspector:
        on_progress(f"running {executable.name}")
        run.unprofiled()
        hardware = inspector.hardware
        on_progress("recording its timeline")
        profile = _profile(run, hardware, on_progress)
    return Inspected(profile=_with_code(profile, executable))


def _environment(device: int) -> dict[str, str]:
    """The allow-list; a device other than the first becomes the only one the program sees."""
    from profilers.children.processes import child_environment

    environment = child_environment()
    if device:
        shown = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        environment["CUDA_VISIBLE_DEVICES"] = shown[device] if shown else str(device)
    return environment


@dataclass(frozen=True, slots=True)
class Run:
    """How the program is started, by itself or under a profiler."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    timeout_s: float

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
            name = Path(self.command[0]).name
            raise InputError(f"{name} {cut(clean(ended.problem), _MOST_TOLD)}{longer}")

    def timeline(self) -> TimelineReport:
        from profilers.timeline.nsys import profile_program

        return profile_program(
            self.command, env=self.env, cwd=self.cwd, timeout_s=_SLOWER * self.timeout_s
        )

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

    recorded = run.timeline()
    missing = dict(recorded.missing)
    facts = summarise(recorded.activities, recorded.api_calls, source="nsys")
    if facts is None and not missing:
        raise InputError(f"{Path(run.command[0]).name} launched nothing on the device")
    if facts is None:
        say("reading counters of its first kernels")
        counted = run.first_counters()
        kernels, gaps = distinct_kernels(counted.kernels), counted.missing
    else:
        kernels = timed_kernels(recorded.activities)
        kernels[:MOST_KERNELS], gaps = _counted(run, kernels[:MOST_KERNELS], say)
    missing |= gaps
    if len(kernels) > MOST_KERNELS:
        missing["other kernels"] = f"{len(kernels) - MOST_KERNELS} that take less are left out"
    return Profile(
        kernels=tuple(kernels[:MOST_KERNELS]), timeline=facts, hardware=hardware, missing=missing
    )


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
    lost = [clean(kernel.name) for kernel in kernels if kernel.sass is None]
    missing = dict(profile.missing)
    if lost:
        missing[SASS] = f"the executable holds no machine code that is clearly {', '.join(lost)}'s"
    return profile.model_copy(update={"kernels": kernels, "missing": missing})
