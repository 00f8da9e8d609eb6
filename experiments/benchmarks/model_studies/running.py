"""The runs of a study: those of a task side by side, on one device, none of them twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from experiments.benchmarks.measurements.session import CostCap, Say, Session, Show
from experiments.benchmarks.model_studies.cell import (
    Cell,
    ModelCellResult,
    TaskOfStudy,
)
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, ModelStudyFolder, cells_of
from experiments.benchmarks.model_studies.means import Means, source_of
from mcts.errors import AnswerPending, InputError


@dataclass(slots=True)
class Tally:
    """What a session did. `refused` has by task why it cannot be searched."""

    done: int = 0
    pending: int = 0
    refused: dict[str, str] = field(default_factory=dict)


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
    known = {line.key: line for line in folder.lines()}
    missing = [cell for cell in cells if cell.key not in known]
    done = len(cells) - len(missing)
    show(done, len(cells))
    cap = CostCap(
        plan.study.cost_usd, spent_usd=sum(line.cost_usd or 0.0 for line in known.values())
    )
    with folder.appending() as results, Means(folder, plan.study, session, say=say) as means:
        for line in _lines(missing, means, session.at_once, tally):
            results.append([line])
            done, tally.done = done + 1, tally.done + 1
            show(done, len(cells))
            cap.pay(line.cost_usd, replies=line.replies)
    if tally.refused and len(tally.refused) == len({cell.task.name for cell in cells}):
        raise InputError(next(iter(tally.refused.values())))
    return tally


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


def _lines(
    cells: Sequence[Cell], means: Means, at_once: int, tally: Tally
) -> Iterator[ModelCellResult]:
    """The lines as they come, task by task, the arms of a task side by side."""
    for task in dict.fromkeys(cell.task.name for cell in cells):
        of_task = [cell for cell in cells if cell.task.name == task]
        with ThreadPoolExecutor(min(at_once, len(of_task)), "rooftree-cell") as pool:
            futures = [pool.submit(means.advance, cell) for cell in of_task]
            try:
                for future in as_completed(futures):
                    try:
                        yield future.result()
                    except AnswerPending:
                        tally.pending += 1
                    except InputError as error:
                        if task not in tally.refused:
                            means.say(f"{task}: {error}")
                        tally.refused[task] = str(error)
            except BaseException:
                means.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            finally:
                means.close_task(task)
