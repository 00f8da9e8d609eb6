"""The runs of a study: those of a task side by side, on one device, none of them twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from experiments.benchmarks.measurements.evaluator import OtherGpu
from experiments.benchmarks.measurements.session import CostCap, Say, Session, Show
from experiments.benchmarks.measurements.side_by_side import side_by_side
from experiments.benchmarks.measurements.waiting import Answers
from experiments.benchmarks.model_studies.cell import (
    Cell,
    ModelCellResult,
    TaskOfStudy,
)
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, ModelStudyFolder, cells_of
from experiments.benchmarks.model_studies.means import EndedRun, Means, source_of
from experiments.runs.wiring.gpus import one_gpu_each
from mcts.errors import AnswerPending, InputError
from mcts.options import JudgingOptions


@dataclass(slots=True)
class Tally:
    """What a session did. `refused` has by task why it cannot be searched. Thread-safe."""

    done: int = 0
    pending: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)


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
        answers = Answers(session.model)
        while missing:
            tally.pending = 0
            answers.look()
            for line in _lines(missing, means, session, tally):
                results.append([line])
                missing = [cell for cell in missing if cell.key != line.key]
                done, tally.done = done + 1, tally.done + 1
                show(done, len(cells))
                cap.pay(line.cost_usd, replies=line.replies)
            if not tally.pending or not answers.more():
                break
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
    cells: Sequence[Cell], means: Means, session: Session, tally: Tally
) -> Iterator[ModelCellResult]:
    """The lines as they come: one task after the other on each GPU, its arms side by side."""

    def of_task(task: str, gpu: JudgingOptions) -> Iterator[ModelCellResult]:
        means.measure_on(task, gpu)
        of_task = [cell for cell in cells if cell.task.name == task]
        return _lines_of(task, of_task, means, session.at_once, tally)

    tasks = list(dict.fromkeys(cell.task.name for cell in cells))
    gpus = list(one_gpu_each(session.judging).values())
    means.others_wait = len(tasks) > len(gpus)
    return side_by_side(tasks, gpus, of_task, stop=means.stop)


def _lines_of(
    task: str, cells: Sequence[Cell], means: Means, at_once: int, tally: Tally
) -> Iterator[ModelCellResult]:
    """The runs of a task side by side. Lines that need the GPU for another baseline come once no
    run is measured any more.
    """

    def leave_out(error: InputError) -> None:
        if task not in tally.refused:
            means.say(f"{task}: {error}")
        tally.refused[task] = str(error)

    ended: list[EndedRun] = []
    with ThreadPoolExecutor(min(at_once, len(cells)), "rooftree-cell") as pool:
        futures = [pool.submit(means.advance, cell) for cell in cells]
        try:
            for future in as_completed(futures):
                try:
                    run = future.result()
                    if run.cell.over_compile:
                        ended.append(run)
                    else:
                        yield means.line(run)
                except AnswerPending:
                    with tally.lock:
                        tally.pending += 1
                except OtherGpu:
                    raise
                except InputError as error:
                    leave_out(error)
        except BaseException:
            means.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            means.close_task(task)
            raise
    try:
        for run in ended:
            try:
                line = means.line(run)
            except OtherGpu:
                raise
            except InputError as error:
                leave_out(error)
                continue
            yield line
    finally:
        means.close_task(task)
