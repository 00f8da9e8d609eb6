"""Examine every case of the clinic, from the recording or on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from experiments.benchmarks.clinic.cases import FOLDER, ClinicCase, kernels_folder
from experiments.benchmarks.clinic.scores import CaseResult
from experiments.benchmarks.measurements.side_by_side import side_by_side
from mcts.errors import InputError
from microtools import registry
from microtools.advisor import RooflineAdvisor
from profilers.profiles.inspecting import Inspected, Inspector, KernelToInspect
from profilers.recordings.profile_recording import ProfileRecording

Say = Callable[[str], None]
DEADLINE_S = 60.0
_Profiled = tuple[ClinicCase, Inspected]


def default_recording(folder: Path = FOLDER) -> Path:
    """The recording that comes with a set; InputError if there is none."""
    place = kernels_folder(folder) / "recordings"
    found = sorted(place.glob("*.json.gz"))
    if not found:
        raise InputError(f"no recording in {place}: make one on a GPU, rooftree clinic --record")
    return found[-1]


def unrecorded(cases: Sequence[ClinicCase], recording: Path) -> list[str]:
    """Kernels of which the recording lacks the ill one or its twin, by name.

    InputError if it cannot be read, or has none of them as they are now.
    """
    profiles = ProfileRecording.load(recording)
    lacking = {
        case.kernel.name
        for case in cases
        if profiles.find(case.kernel.source, case.tunables) is None
    }
    if lacking == {case.kernel.name for case in cases}:
        raise InputError(
            f"{recording} holds no profile of these kernels as they are now: record them again on "
            "a GPU with rooftree clinic --record"
        )
    return sorted(lacking)


def replayed(cases: Sequence[ClinicCase], recording: Path) -> list[tuple[ClinicCase, Inspected]]:
    """What was recorded of each case. InputError names the first that is not recorded."""
    profiles = ProfileRecording.load(recording)
    found = []
    for case in cases:
        inspected = profiles.find(case.kernel.source, case.tunables)
        if inspected is None:
            raise InputError(
                f"{recording} holds no profile of {case.name} as it is now: record it again "
                "on a GPU with rooftree clinic --record"
            )
        found.append((case, inspected))
    return found


def measured(
    cases: Sequence[ClinicCase], *, devices: Sequence[int], on_progress: Say
) -> list[tuple[ClinicCase, Inspected]]:
    """Profile every case, an even share of them on each GPU at once, in the order of `cases`."""
    shares = [cases[first :: len(devices)] for first in range(len(devices))]

    def of_share(share: Sequence[ClinicCase], device: int) -> Iterator[_Profiled]:
        if share:
            yield from _measured(share, device=device, on_progress=on_progress).items()

    stop = threading.Event()  # a share is one start of a profiler: it is not ended halfway
    found = dict(side_by_side(shares, devices, of_share, stop=stop.set))
    return [(case, found[case]) for case in cases]


def _measured(
    cases: Sequence[ClinicCase], *, device: int, on_progress: Say
) -> dict[ClinicCase, Inspected]:
    """The profiles by one GPU: specs under one start of each profiler, programs apart."""
    from experiments.inspect import programs
    from experiments.inspect.building import built

    specs = [case for case in cases if not case.kernel.is_program]
    found: dict[ClinicCase, Inspected] = {}
    with Inspector(device=device, on_progress=on_progress) as inspector:
        inputs = [
            KernelToInspect(case.kernel.source, case.kernel.spec, case.tunables) for case in specs
        ]
        on_progress(f"profiling {len(specs)} kernels on GPU {device}")
        found.update(zip(specs, inspector.profile_many(inputs), strict=True))
    others = [case for case in cases if case.kernel.is_program]
    arch = programs.device_arch(device) if others else ""
    for number, case in enumerate(others, 1):
        on_progress(f"program {number}/{len(others)}: {case.name}")
        path, values = case.kernel.path, case.tunables
        with built(path, values, arch=arch, timeout_s=DEADLINE_S) as executable:
            found[case] = programs.measure(
                executable, (), device=device, timeout_s=DEADLINE_S, on_progress=lambda _text: None
            )
    return found


def examine(inspected: Sequence[tuple[ClinicCase, Inspected]]) -> list[CaseResult]:
    """The tools' guidance for each case: that of ours, and of plug-ins beside them."""
    advisor = RooflineAdvisor()
    ours = {tool.name for tool in registry.builtin()}
    plugins = frozenset(tool.name for tool in registry.available()[0]) - ours
    return [
        CaseResult(
            case,
            advisor.examine(work=seen.work, profile=seen.profile, time_us=seen.time_us),
            plugins,
            None if case.kernel.is_program else seen.time_us,
        )
        for case, seen in inspected
    ]


def record(inspected: Sequence[tuple[ClinicCase, Inspected]], target: Path) -> ProfileRecording:
    """Keep every profile in `target`."""
    recording = ProfileRecording()
    for case, seen in inspected:
        recording.put(case.kernel.source, case.tunables, seen)
    recording.save(target)
    return recording
