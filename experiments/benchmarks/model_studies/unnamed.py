"""A recorded task whose tunables say nothing of themselves: no names, no help, no methods.

What a model does with it, it has from the source, the measurements and the values alone.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from experiments.runs.tasks.files import TASK_FILE, TaskSource, find_task, load_task, read_task_file
from mcts.errors import InputError
from mcts.files import write_whole
from profilers.recordings.recording import Recording
from profilers.recordings.t4 import load_recording, write_recording

T = TypeVar("T")
_STEM = "CHOICE_"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_SAID = rf"(?:help\s*=\s*{_TEXT}|methods\s*=\s*\[(?:\s*{_TEXT}\s*,?)*\s*\])"
_SAYINGS = re.compile(rf",\s*{_SAID}|{_SAID}\s*,?")
RECORDING = "recordings/unnamed.json.gz"


def unnamed(source: TaskSource, folder: Path) -> TaskSource:
    """The task in `folder`, written there unless it is there already.

    Tunables are called CHOICE_1, CHOICE_2, ... in their order, wherever they stand in the kernel,
    comments included. InputError for a task that is no folder with a recording.
    """
    if not (folder / RECORDING).is_file():
        _write(source, folder)
    return find_task(str(folder))


def _write(source: TaskSource, folder: Path) -> None:
    if source.folder is None or not source.recordings:
        raise InputError(
            f"task {source.task.name}: names = false is for task folders with a recording"
        )
    file = read_task_file(source.folder)
    kernel = (source.folder / file.kernel).read_text(encoding="utf-8")
    if _STEM in kernel:
        raise InputError(f"{source.folder / file.kernel} has names with {_STEM} of its own")
    names = {name: f"{_STEM}{n}" for n, name in enumerate(source.task.space.tunables, 1)}
    (folder / RECORDING).parent.mkdir(parents=True, exist_ok=True)
    for name in (TASK_FILE, file.reference):
        shutil.copyfile(source.folder / name, folder / name)
    write_whole(folder / file.kernel, _renamed(kernel, names))
    task = load_task(folder)
    values = [tunable.values for tunable in source.task.space.tunables.values()]
    here = task.space.tunables
    if [one.values for one in here.values()] != values or list(here) != list(names.values()):
        raise InputError(f"{source.folder / file.kernel}: its tunables cannot be renamed")
    if any(tunable.help or tunable.methods for tunable in here.values()):
        raise InputError(f"{source.folder / file.kernel}: help cannot be taken out of its header")
    recording = load_recording(source.recordings[-1])
    write_recording(folder / RECORDING, _of(recording, names, task_id=task.id))


def _renamed(kernel: str, names: Mapping[str, str]) -> str:
    words = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
    head, end, body = kernel.partition("*/")
    return words.sub(lambda found: names[found[0]], _SAYINGS.sub("", head) + end + body)


def _of(recording: Recording, names: Mapping[str, str], *, task_id: str) -> Recording:
    def named(table: Mapping[str, T]) -> dict[str, T]:
        return {names[name]: value for name, value in table.items()}

    return replace(
        recording,
        task_id=task_id,
        source_hash=None,
        tunables=named(recording.tunables),
        baseline=named(recording.baseline) if recording.baseline is not None else None,
        configurations=tuple(
            replace(record, configuration=named(record.configuration))
            for record in recording.configurations
        ),
    )
