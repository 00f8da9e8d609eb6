"""The kernels that suites and studies ended with, as files that need PyTorch alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from codegen.self_contained import self_contained
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from experiments.benchmarks.model_studies.folder import ModelStudyFolder
from experiments.benchmarks.studies.folder import STUDY_FILE
from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.outcome import Gain
from experiments.runs.tasks.files import read_text
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A kernel for a KernelBench problem, out of `folder`.

    `key` tells it from the folder's others, `problem` is one like "level1/26". `eager` and
    `compiled` are what we measured, None where that was not concluded.
    """

    folder: Path
    key: str
    name: str
    problem: str
    source: str
    eager: Gain | None
    compiled: Gain | None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()


def exports(folder: Path) -> list[Export]:
    """The kernels of the folder of a suite, or of a study of searches with a model.

    InputError if it is neither.
    """
    is_study = (folder / STUDY_FILE).is_file()
    return list(_of_study(folder) if is_study else _of_suite(SuiteFolder(folder)))


def _of_suite(suite: SuiteFolder) -> Iterator[Export]:
    """In the order of levels and numbers."""
    for chosen in suite.plan().problems:
        path = suite.kernel(chosen.key)
        if not path.is_file():
            continue
        outcome = suite.outcome(chosen.key)
        yield Export(
            folder=suite.path,
            key=chosen.key,
            name=chosen.name,
            problem=f"level{chosen.level}/{chosen.number}",
            source=read_text(path),
            eager=outcome.eager if outcome else None,
            compiled=outcome.compiled if outcome else None,
        )


def _of_study(path: Path) -> Iterator[Export]:
    """The winners that were confirmed, task by task."""
    folder = ModelStudyFolder(path)
    tasks = {task.name: task for task in folder.plan().tasks}
    places = list(tasks)
    lines = sorted(folder.lines(), key=lambda line: (places.index(line.task), line.arm, line.seed))
    with closing(MeasurementStore(path / MEASUREMENTS_FILE, read_only=True)) as store:
        for line in lines:
            if line.winner is None or line.final is None:
                continue
            task = tasks[line.task]
            level, number = Path(task.given).parent.name, line.task.partition("_")[0]
            if not level.startswith("level") or not number.isdigit():
                raise InputError(f"{path}: {task.given} is no problem of KernelBench's")
            found = store.find(task.task_id, line.winner, "candidate")
            if found is None:
                raise InputError(f"{path}: {MEASUREMENTS_FILE} does not hold {line.winner}")
            yield Export(
                folder=path,
                key=f"{line.arm}/{line.task}-{line.seed}",
                name=f"{level.removeprefix('level')}/{line.task}, {line.arm}",
                problem=f"{level}/{number}",
                source=self_contained(Candidate.model_validate(found).source),
                eager=_confirmed(store, task.task_id, line.winner),
                compiled=_confirmed(store, f"{task.task_id} compile", line.winner),
            )


def _confirmed(store: MeasurementStore, place: str, candidate: str) -> Gain | None:
    found = store.find(place, candidate, "confirmation")
    timing = Evaluation.model_validate(found).timing if found is not None else None
    return Gain.of(timing) if timing is not None else None
