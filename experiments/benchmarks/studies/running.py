"""The runs of a study over several processes; finished runs are not repeated."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from experiments.benchmarks.studies.cell import Cell, CellResult
from experiments.benchmarks.studies.code import code_hash
from experiments.benchmarks.studies.config import Study
from experiments.benchmarks.studies.folder import Plan, StudyFolder
from experiments.benchmarks.studies.kinds import KINDS, run_cell
from mcts.errors import InputError, WorldError

Show = Callable[[int, int], None]
"""Takes how many runs are done and how many there are."""


def plan_of(study: Study, *, version: str) -> Plan:
    """The facts of the study's tasks. InputError for a task or an arm that cannot be run."""
    facts = KINDS[study.kind].facts(study)
    names = [of_task.name for of_task in facts]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two tasks are called {doubled[0]!r}")
    plan = Plan(rooftree=version, code=code_hash(study.arms.values()), study=study, tasks=facts)
    keys = tuple(cell.key for cell in cells_of(plan))
    return plan.model_copy(update={"keys": keys})


def cells_of(plan: Plan) -> list[Cell]:
    """Every run, seed by seed, so that a study that is stopped early is still balanced."""
    study = plan.study
    return [
        Cell(
            arm=name,
            task=facts.name,
            seed=seed,
            spec=arm,
            facts=facts,
            version=plan.rooftree,
            kind=study.kind,
        )
        for seed in study.each_seed
        for facts in plan.tasks
        for name, arm in study.arms.items()
    ]


def run_study(plan: Plan, folder: StudyFolder, *, jobs: int, show: Show) -> int:
    """Run what is missing in `jobs` processes; returns how many runs that were.

    Raises InputError and WorldError as runs do; whatever ends it, what was run is kept.
    """
    cells = cells_of(plan)
    known = {line.key for line in folder.lines()}
    missing = [cell for cell in cells if cell.key not in known]
    done = len(cells) - len(missing)
    show(done, len(cells))
    if not missing:
        return 0
    with folder.appending() as results:
        for line in _lines(missing, jobs=jobs):
            results.append([line])
            done += 1
            show(done, len(cells))
    return len(missing)


def _lines(cells: Sequence[Cell], *, jobs: int) -> Iterator[CellResult]:
    """The runs' results as they come."""
    if jobs == 1:
        yield from map(run_cell, cells)
        return
    with _pool(min(jobs, len(cells))) as pool:
        queue, pending = iter(cells), set[Future[CellResult]]()
        while True:
            for cell in queue:
                pending.add(pool.submit(run_cell, cell))
                if len(pending) >= 2 * jobs:
                    break
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield _result(future)


def _result(future: Future[CellResult]) -> CellResult:
    try:
        return future.result()
    except BrokenProcessPool:
        raise WorldError(
            "a process of the study died, for lack of memory perhaps; run the study again to go "
            "on, with fewer --jobs"
        ) from None


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with this one."""
    context = multiprocessing.get_context("forkserver")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_initialise_worker)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    else:
        pool.shutdown()


def _initialise_worker() -> None:
    """Leave Ctrl-C to the parent, and end if the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
