"""Profiles that were recorded: the one asked for, or one that lies beside the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.runs.tasks.files import RECORDING_SUFFIXES
from mcts.domain import Candidate, KernelTask, Scalar, Work
from mcts.errors import InputError, NotRecorded

if TYPE_CHECKING:
    from profilers.profiles.inspecting import Inspected

FOLDER = "recordings"
ARGUMENTS = "--"
"""The key of a program's arguments beside its macros: no macro has this name."""


def replay(
    recording: Path, source: str, values: Mapping[str, Scalar], *, task: KernelTask | None
) -> Inspected:
    """What `recording` holds of this source with these values.

    Raises InputError if it is no recording, or holds something else.
    """
    found = _lookup(recording, source, values, task)
    if found is None:
        listed = ", ".join(
            f"arguments {value}" if name == ARGUMENTS else f"{name}={value}"
            for name, value in values.items()
        )
        with_values = f" with {listed}" if listed else ""
        raise InputError(
            f"{recording} holds no profile of this very source{with_values}: record one on a GPU "
            "with --save, or leave --replay out"
        )
    return found


def beside(
    path: Path, source: str, values: Mapping[str, Scalar], *, task: KernelTask | None
) -> Inspected | None:
    """The first recording in a folder `recordings` beside `path` that holds it, newest name first.

    Files there that cannot be read are skipped: the user did not name them.
    """
    folder = path.parent / FOLDER
    names = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
    for recording in names:
        if not recording.name.endswith(RECORDING_SUFFIXES):
            continue
        try:
            found = _lookup(recording, source, values, task)
        except InputError:
            continue
        if found is not None:
            return found
    return None


def save(path: Path, source: str, values: Mapping[str, Scalar], inspected: Inspected) -> None:
    """Add a profile to the recording at `path`, or begin one."""
    from profilers.recordings.profile_recording import ProfileRecording

    recording = ProfileRecording.load(path) if path.exists() else ProfileRecording()
    recording.put(source, values, inspected)
    recording.save(path)


def _lookup(
    path: Path, source: str, values: Mapping[str, Scalar], task: KernelTask | None
) -> Inspected | None:
    from profilers.recordings.profile_recording import ProfileRecording

    try:
        recording = ProfileRecording.load(path)
    except InputError:
        if task is None:
            raise
        return _from_task_recording(path, source, values, task)
    return recording.find(source, values)


def _from_task_recording(
    path: Path, source: str, values: Mapping[str, Scalar], task: KernelTask
) -> Inspected | None:
    """A task's T4 recording holds the profiles of its own source, by tunables."""
    from profilers.profiles.inspecting import Inspected
    from profilers.recordings.replay import ReplayEvaluator
    from profilers.recordings.t4 import load_recording

    judge = ReplayEvaluator(task, load_recording(path))
    candidate = Candidate(source=source, tunables=dict(values))
    try:
        evaluation = judge.evaluate(candidate)
    except NotRecorded:
        return None
    if evaluation.timing is None:
        raise InputError(f"{path}: with these tunables it failed: {evaluation.message}")
    profile = judge.profile(candidate, evaluation)
    return Inspected(
        profile=profile.model_copy(update={"hardware": judge.hardware}),
        time_us=evaluation.timing.median_us,
        work=Work.of(task),
        recorded_on=judge.hardware.recorded_on,
    )
