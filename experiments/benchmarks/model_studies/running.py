"""The runs of a study: those of a task side by side, on one device, none of them twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TypeVar

from experiments.benchmarks.measurements.evaluator import OtherGpu
from experiments.benchmarks.measurements.scheduling import Tally, missing_lines, taken
from experiments.benchmarks.measurements.session import Say, Session, Show
from experiments.benchmarks.model_studies.cell import (
    Cell,
    ModelCellResult,
    TaskOfStudy,
)
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, ModelStudyFolder, cells_of
from experiments.benchmarks.model_studies.means import EndedRun, Means, source_of
from mcts.errors import InputError

Value = TypeVar("Value")


def plan_of(study: ModelStudy, *, version: str) -> ModelPlan:
    """The study with its tasks. InputError for a task that is none, or two of one name."""
    tasks: list[TaskOfStudy] = []
    for given in study.tasks:
        task = source_of(given, study).task
        if any(task.name == other.name for other in tasks):
            raise InputError(f"two tasks are called {task.name!r}")
        tasks.append(TaskOfStudy(given=given, name=task.name, task_id=task.id))
    plan = ModelPlan(rooftree=version, study=study, tasks=tuple(tasks))
    return plan.model_copy(update={"keys": tuple(cell.key for cell in cells_of(plan))})


def run_cells(
    plan: ModelPlan, folder: ModelStudyFolder, session: Session, *, show: Show, say: Say
) -> Tally:
    """Bring the runs that have no line yet to their ends, as far as their answers are there.

    A task that cannot be searched is left out, and told. Raises WorldError as runs do, InputError
    if no task can be searched; whatever ends it, what was asked and measured is kept.
    """
    cells, tally = cells_of(plan), Tally()
    with folder.appending() as results, Means(folder, plan.study, session, say=say) as means:

        def lines_of(of_task: Sequence[Cell]) -> Iterator[ModelCellResult]:
            return _lines_of(of_task, means, session.at_once, tally)

        with closing(
            missing_lines(
                cells, folder.lines(), lines_of, means, session, tally,
                cost_usd=plan.study.cost_usd, show=show,
            )
        ) as lines:  # fmt: skip
            for line in lines:
                results.append([line])
    refused = refused_tasks(plan, tally)
    if refused and len(refused) == len({cell.task.name for cell in cells}):
        raise InputError(next(iter(refused.values())))
    return tally


def refused_tasks(plan: ModelPlan, tally: Tally) -> dict[str, str]:
    """By the names of tasks that a session left out, why."""
    return {
        cell.task.name: why
        for cell in cells_of(plan)
        if (why := tally.left_out.get(cell.key)) is not None
    }


def replayed(plan: ModelPlan, folder: ModelStudyFolder) -> Iterator[ModelCellResult]:
    """The lines that have a run, found again from the folder's answers and measurements alone.

    Raises WorldError for what the folder does not hold.
    """
    known = {line.key for line in folder.lines()}
    with Means(folder, plan.study, None, say=lambda _: None) as means:
        for cell in cells_of(plan):
            if cell.key in known:
                yield means.again(cell)
                means.close_task(cell.task.name)


def _lines_of(
    cells: Sequence[Cell], means: Means, at_once: int, tally: Tally
) -> Iterator[ModelCellResult]:
    """The runs of a task side by side. Lines that need the GPU for another baseline come once no
    run is measured any more.
    """

    def unless_refused(what: Callable[[], Value], cell: Cell) -> Value | None:
        try:
            return what()
        except OtherGpu:
            raise
        except InputError as error:
            if tally.leave_out(cell, str(error)):
                means.say(f"{cell.task.name}: {error}")
            return None

    def advance(cell: Cell) -> EndedRun | None:
        return unless_refused(lambda: means.advance(cell), cell)

    ended: list[EndedRun] = []
    runs = taken(cells, advance, tally, at_once=at_once, name="rooftree-cell", stop=means.stop)
    try:
        with closing(runs):
            for run in runs:
                if run.cell.over_compile:
                    ended.append(run)
                elif (line := unless_refused(partial(means.line, run), run.cell)) is not None:
                    yield line
        for run in ended:
            if (line := unless_refused(partial(means.line, run), run.cell)) is not None:
                yield line
    finally:
        means.close_task(cells[0].task.name)
