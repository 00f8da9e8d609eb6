"""The parents of a one-step study: measured variants of runs, copied with their tasks."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.benchmarks.one_step.config import run_and_node
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.options.config import CONFIG_FILE
from experiments.runs.tasks.files import TaskSource
from mcts.domain import Candidate, Noun
from mcts.errors import InputError
from mcts.journal.record import NodeRecord, read_result
from mcts.options import JudgingOptions

_TASK = "task"


class Parent(Noun):
    """A variant from which replies are asked. `speedup` is what its run measured; `run` is the end
    of the run folder's path, as long as it must be to tell it from the others.
    """

    run: str
    node: int
    task: str
    task_id: str
    candidate: str
    speedup: float

    @property
    def name(self) -> str:
        return f"{self.run}:{self.node}"


@dataclass(frozen=True, slots=True)
class FoundParent:
    """A parent with its code and the run that it comes from."""

    parent: Parent
    candidate: Candidate
    run: RunFolder


def find_parents(given: tuple[str, ...]) -> list[FoundParent]:
    """The parents in their order, each candidate of a task once.

    InputError for a folder that is no run, and for a node that is no measured variant.
    """
    found: dict[tuple[str, str], FoundParent] = {}
    for place in given:
        for each in _of_run(place):
            found.setdefault((each.parent.task_id, each.parent.candidate), each)
    if not found:
        raise InputError("the runs hold no measured variant besides their baselines")
    names = _names({each.run.path.resolve() for each in found.values()})
    return [
        replace(each, parent=each.parent.model_copy(update={"run": names[each.run.path.resolve()]}))
        for each in found.values()
    ]


def _names(paths: set[Path]) -> dict[Path, str]:
    """For each path as many of its last parts as tell it from all others."""
    names = {path: path.name for path in paths}
    longest = max(len(path.parts) for path in paths)
    for depth in range(2, longest + 1):
        times = Counter(names.values())
        for path, name in names.items():
            if times[name] > 1:
                names[path] = "/".join(path.parts[-depth:])
    return names


def _of_run(place: str) -> Iterator[FoundParent]:
    path, wanted = run_and_node(place)
    folder = RunFolder(Path(path))
    config = folder.config
    if config.judging.recording is not None or config.recording is not None:
        raise InputError(f"{path} replayed a recording: a model's code cannot be judged there")
    task = folder.task(config).task
    nodes = [node for node in read_result(read_events(folder.path)).nodes if _is_parent(node)]
    if wanted is not None:
        nodes = [node for node in nodes if node.id == wanted]
        if not nodes:
            raise InputError(f"{path} has no measured variant {wanted} besides the baseline")
    for node in nodes:
        assert node.candidate is not None and node.speedup is not None, "it was measured"
        parent = Parent(
            run=folder.path.name,
            node=node.id,
            task=task.name,
            task_id=task.id,
            candidate=node.candidate.id,
            speedup=round(node.speedup, 4),
        )
        yield FoundParent(parent, node.candidate, folder)


def _is_parent(node: NodeRecord) -> bool:
    return node.id > 0 and node.kind == "measured" and node.speedup is not None


class StudyTasks:
    """The tasks of a study, kept in its folder with the rules by which they are judged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "tasks"

    def keep(self, found: FoundParent) -> None:
        """Copy the task of a parent, unless it is there."""
        target = self._folder / found.parent.task_id
        if (target / CONFIG_FILE).is_file():
            return
        target.mkdir(parents=True, exist_ok=True)
        shutil.copytree(found.run.path / _TASK, target / _TASK, dirs_exist_ok=True)
        RunFolder(target).write_config(found.run.config)

    def source(self, task_id: str) -> TaskSource:
        """The task. InputError if its files are gone."""
        folder = RunFolder(self._folder / task_id)
        return folder.task(folder.config)

    def judging(self, task_id: str) -> JudgingOptions:
        """The rules that its run had."""
        return RunFolder(self._folder / task_id).config.judging
