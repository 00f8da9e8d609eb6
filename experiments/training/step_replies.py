"""The judged replies of one-step studies: several arms asked for the next variant of one parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from experiments.benchmarks.measurements.asking import ANSWERS_FILE
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, Kind, MeasurementStore
from experiments.benchmarks.one_step.folder import OneStepFolder, steps_of
from experiments.benchmarks.one_step.parents import StudyTasks
from experiments.training.answers import Answer, answers_holding, by_question, stored_answers
from experiments.training.judged import MIXED, JudgedReply, judged_reply
from mcts.domain import Candidate, Evaluation
from mcts.errors import InputError


def replies_of_steps(
    path: Path, answers: Sequence[Answer], left_out: dict[str, int]
) -> Iterator[JudgedReply]:
    """The judged replies of a one-step study's folder, and of what else was `answers`.

    Where the study says that its children may be timed on another GPU than their parents, the
    replies are of no one GPU and have no parent's evaluation. Which arm was asked is not told: a
    line does not say in which words. InputError for a folder that has lost
    what it was measured by, as a published one has.
    """
    folder = OneStepFolder(path)
    plan, lines = folder.plan(), {line.key: line for line in folder.lines()}
    mixed, tasks = plan.study.mixed_gpus, StudyTasks(path)
    asked = by_question([*stored_answers(path / ANSWERS_FILE), *answers])
    taken: set[int] = set()
    with closing(_Measured(path)) as measured:
        for number, step in enumerate(steps_of(plan), start=1):
            line = lines.get(step.key)
            if line is None:
                left_out["not judged"] += 1
                continue
            if line.candidate is None or line.status == "same":
                left_out["no candidate in it, or one that was known"] += 1
                continue
            task = tasks.source(step.parent.task_id).task
            parent = measured.candidate(task.id, step.parent.candidate)
            child = measured.candidate(task.id, line.candidate)
            holding = list(answers_holding(child, parent, task, asked))
            if not holding:
                left_out["its answer is not kept with the run"] += 1
                continue
            # Two arms may have been given the same code for different questions.
            found = next((one for one in holding if id(one) not in taken), holding[0])
            taken.add(id(found))
            yield judged_reply(
                found,
                task,
                child,
                measured.evaluation(task.id, child.id),
                parent=parent,
                parent_evaluation=None if mixed else measured.evaluation(task.id, parent.id),
                hardware=MIXED if mixed else measured.hardware(task.id),
                run=path.name,
                trial=number,
            )


class _Measured:
    """What a study measured. InputError for what its folder lacks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not (path / MEASUREMENTS_FILE).is_file():
            raise InputError(
                f"{path} has no {MEASUREMENTS_FILE}: give the folder that the study was run in"
            )
        self._store = MeasurementStore(path / MEASUREMENTS_FILE, read_only=True)

    def candidate(self, task: str, candidate: str) -> Candidate:
        return Candidate.model_validate(self._find(task, candidate, "candidate"))

    def evaluation(self, task: str, candidate: str) -> Evaluation:
        return Evaluation.model_validate(self._find(task, candidate, "evaluation"))

    def hardware(self, task: str) -> str:
        return str(self._find(task, "", "evaluator")["hardware"]["name"])

    def close(self) -> None:
        self._store.close()

    def _find(self, task: str, candidate: str, kind: Kind) -> dict[str, Any]:
        found = self._store.find(task, candidate, kind)
        if found is None:
            raise InputError(f"{self._path} has lost the {kind} of {candidate or task}")
        return found
