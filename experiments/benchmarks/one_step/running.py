"""The steps of a study: asked together, measured on one device, none of them twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from experiments.benchmarks.measurements.asking import ANSWERS_FILE, SharedClients
from experiments.benchmarks.measurements.evaluator import StoredEvaluator
from experiments.benchmarks.measurements.scheduling import Tally, missing_lines, taken
from experiments.benchmarks.measurements.session import Say, Session, Show
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from experiments.benchmarks.one_step.config import OneStepStudy
from experiments.benchmarks.one_step.folder import (
    OneStepFolder,
    OneStepPlan,
    steps_of,
)
from experiments.benchmarks.one_step.parents import FoundParent, StudyTasks
from experiments.benchmarks.one_step.step import Laboratory, ParentFails, Step, StepResult
from experiments.runs.wiring.composing import choose_evaluator
from mcts.domain import Candidate
from mcts.errors import InputError
from mcts.options import JudgingOptions
from microtools.advisor import RooflineAdvisor


def plan_of(study: OneStepStudy, parents: Sequence[FoundParent], *, version: str) -> OneStepPlan:
    """The study with its parents."""
    plan = OneStepPlan(
        rooftree=version, study=study, parents=tuple(found.parent for found in parents)
    )
    return plan.model_copy(update={"keys": tuple(step.key for step in steps_of(plan))})


def keep_parents(folder: Path, parents: Sequence[FoundParent]) -> None:
    """Copy the parents and their tasks into the study's folder."""
    tasks = StudyTasks(folder)
    with closing(MeasurementStore(folder / MEASUREMENTS_FILE)) as store:
        for found in parents:
            tasks.keep(found)
            code = found.candidate.model_dump(mode="json")
            store.keep(found.parent.task_id, found.candidate.id, "candidate", code, seconds=0.0)


def run_steps(
    plan: OneStepPlan, folder: OneStepFolder, session: Session, *, show: Show, say: Say
) -> Tally:
    """Take the steps that have no line yet.

    A step whose answer is not there yet is left for another session. Raises InputError and
    WorldError as runs do; whatever ends it, what was asked and measured is kept.
    """
    tally = Tally()
    with folder.appending() as results, _Means(folder.path, plan.study, session) as means:

        def lines_of(of_task: Sequence[Step]) -> Iterator[StepResult]:
            return _lines_of(of_task, means, session.at_once, tally, say)

        with closing(
            missing_lines(
                steps_of(plan), folder.lines(), lines_of, means, session, tally,
                cost_usd=plan.study.cost_usd, show=show,
            )
        ) as lines:  # fmt: skip
            for line in lines:
                results.append([line])
    return tally


def replayed(plan: OneStepPlan, folder: OneStepFolder) -> Iterator[StepResult]:
    """The lines that have a step, found again from the folder's answers and measurements alone.

    Raises WorldError for what the folder does not hold.
    """
    known = {line.key for line in folder.lines()}
    with _Means(folder.path, plan.study, None) as means:
        for step in steps_of(plan):
            if step.key in known:
                yield means.of(step.parent.task_id).take(step, means.candidate(step))


def _lines_of(
    steps: Sequence[Step], means: _Means, at_once: int, tally: Tally, say: Say
) -> Iterator[StepResult]:
    task = steps[0].task_key
    lab = means.of(task)

    def take(step: Step) -> StepResult | None:
        try:
            return lab.take(step, means.candidate(step))
        except ParentFails as error:
            tally.leave_out(step, str(error))
            return None

    try:
        _measure_parents(lab, steps, means, tally, say)
        lines = taken(steps, take, tally, at_once=at_once, name="rooftree-step", stop=means.stop)
        with closing(lines):
            yield from lines
    finally:
        means.close_task(task)


def _measure_parents(
    lab: Laboratory, steps: Sequence[Step], means: _Means, tally: Tally, say: Say
) -> None:
    """Measure and profile the parents that are new here, before anything is asked of them."""
    first = {step.parent.candidate: step for step in reversed(steps)}
    new = [step for step in first.values() if not means.has_profile(step)]
    if not new:
        return

    def measure(step: Step) -> str:
        try:
            found = lab.request(step, means.candidate(step)).evaluation
        except ParentFails as error:
            return str(error)
        return f"parent {step.parent.name}: {found.speedup:.2f}x over the baseline, profiled"

    at_once = max(1, 2 * lab.evaluator.devices)
    told = taken(new, measure, tally, at_once=at_once, name="rooftree-parent", stop=means.stop)
    with closing(told):
        for count, words in enumerate(told, start=1):
            say(f"[{count}/{len(new)}] {words}")


class _Means:
    """The stores of a study's folder, and who asks and measures for each task.

    Without a session nobody does: answers and measurements come from the folder.
    """

    def __init__(self, folder: Path, study: OneStepStudy, session: Session | None) -> None:
        self.study = study
        self._tasks, self._session = StudyTasks(folder), session
        self._open = ExitStack()
        self._store = self._open.enter_context(
            closing(MeasurementStore(folder / MEASUREMENTS_FILE, read_only=session is None))
        )
        self._clients = SharedClients(
            folder / ANSWERS_FILE, session.model if session else None, run_id=study.name
        )
        self._labs: dict[str, StoredEvaluator] = {}
        self._judging: dict[str, JudgingOptions] = {}
        self.others_wait = True
        """Whether more tasks are left than there are GPUs."""

    def __enter__(self) -> _Means:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for task in list(self._labs):
            self.close_task(task)
        self._open.close()

    def stop(self) -> None:
        """Ask and measure nothing more; idempotent. What is being measured goes on."""
        self._clients.close()
        for evaluator in list(self._labs.values()):
            evaluator.stop()

    def measure_on(self, task: str, judging: JudgingOptions) -> None:
        """Have a task measured as `judging` says, which names one GPU of the session's."""
        self._judging[task] = judging

    def of(self, task: str) -> Laboratory:
        """Who takes the steps of a task."""
        if task not in self._labs:
            self._labs[task] = self._evaluator(task)
        return Laboratory(
            evaluator=self._labs[task],
            advisor=RooflineAdvisor(),
            client_of=partial(self._clients.of, may_leave=lambda: self.others_wait),
        )

    def candidate(self, step: Step) -> Candidate:
        """The parent's code. InputError if the folder has lost it."""
        found = self._store.find(step.parent.task_id, step.parent.candidate, "candidate")
        if found is None:
            raise InputError(f"the study's folder has lost the code of {step.parent.name}")
        return Candidate.model_validate(found)

    def has_profile(self, step: Step) -> bool:
        """Whether the parent was measured and profiled before."""
        task, candidate = step.parent.task_id, step.parent.candidate
        return self._store.find(task, candidate, "profile") is not None

    def close_task(self, task: str) -> None:
        """Release what measures a task."""
        if (lab := self._labs.pop(task, None)) is not None:
            lab.close()

    def _evaluator(self, task: str) -> StoredEvaluator:
        source, session = self._tasks.source(task), self._session
        most_s = None if self.study.gpu_minutes is None else 60 * self.study.gpu_minutes
        if session is None:
            return StoredEvaluator(source.task, self._store, open=None)
        began_with = self._tasks.judging(task)
        judging = self._judging.get(task, session.judging).model_copy(
            update={"policy": began_with.policy, "dialect": began_with.dialect}
        )
        return StoredEvaluator(
            source.task,
            self._store,
            open=lambda: choose_evaluator(source, judging, on_progress=lambda _: None),
            most_s=most_s,
            mixed_gpus=self.study.mixed_gpus,
        )
