"""Examine every patient of the clinic, from the recording or on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.benchmarks.clinic.exhibits import RECORDINGS, Patient
from experiments.benchmarks.clinic.scores import Examined
from mcts.errors import InputError
from microtools import registry
from microtools.advisor import RooflineAdvisor
from profilers.profiles.inspecting import Exhibit, Inspected, Inspector
from profilers.recordings.profile_recording import ProfileRecording

Say = Callable[[str], None]
DEADLINE_S = 60.0


def default_recording() -> Path:
    """The recording that comes with Rooftree; InputError if it is gone."""
    found = sorted(RECORDINGS.glob("*.json.gz"))
    if not found:
        raise InputError(f"no recording in {RECORDINGS}: record one with rooftree clinic --record")
    return found[-1]


def replayed(patients: Sequence[Patient], recording: Path) -> list[tuple[Patient, Inspected]]:
    """What was recorded of each patient. InputError names the first that is not recorded."""
    profiles = ProfileRecording.load(recording)
    found = []
    for patient in patients:
        inspected = profiles.find(patient.exhibit.source, patient.tunables)
        if inspected is None:
            raise InputError(
                f"{recording} holds no profile of {patient.name} as it is now: record it again "
                "on a GPU with rooftree clinic --record"
            )
        found.append((patient, inspected))
    return found


def measured(
    patients: Sequence[Patient], *, device: int, on_progress: Say
) -> list[tuple[Patient, Inspected]]:
    """Profile every patient on a GPU: specs under one start of each profiler, programs apart."""
    from experiments.inspect import programs
    from experiments.inspect.building import built

    specs = [patient for patient in patients if not patient.exhibit.is_program]
    found: dict[Patient, Inspected] = {}
    with Inspector(device=device, on_progress=on_progress) as inspector:
        exhibits = [
            Exhibit(patient.exhibit.source, patient.exhibit.spec, patient.tunables)
            for patient in specs
        ]
        on_progress(f"profiling {len(specs)} kernels")
        found.update(zip(specs, inspector.profile_many(exhibits), strict=True))
    others = [patient for patient in patients if patient.exhibit.is_program]
    arch = programs.device_arch(device) if others else ""
    for number, patient in enumerate(others, 1):
        on_progress(f"program {number}/{len(others)}: {patient.name}")
        path, values = patient.exhibit.path, patient.tunables
        with built(path, values, arch=arch, timeout_s=DEADLINE_S) as executable:
            found[patient] = programs.measure(
                executable, (), device=device, timeout_s=DEADLINE_S, on_progress=lambda _text: None
            )
    return [(patient, found[patient]) for patient in patients]


def examine(inspected: Sequence[tuple[Patient, Inspected]]) -> list[Examined]:
    """Let the tools speak about what was seen: ours, and plug-ins beside them."""
    advisor = RooflineAdvisor()
    ours = {tool.name for tool in registry.BUILTIN}
    plugins = frozenset(tool.name for tool in registry.available()[0]) - ours
    return [
        Examined(
            patient,
            advisor.examine(work=seen.work, profile=seen.profile, time_us=seen.time_us),
            plugins,
        )
        for patient, seen in inspected
    ]


def record(inspected: Sequence[tuple[Patient, Inspected]], target: Path) -> ProfileRecording:
    """Keep every profile in `target`."""
    recording = ProfileRecording()
    for patient, seen in inspected:
        recording.put(patient.exhibit.source, patient.tunables, seen)
    recording.save(target)
    return recording
