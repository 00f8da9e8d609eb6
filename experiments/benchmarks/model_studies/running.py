"""The runs of a study: those of a task side by side, on one device, none of them twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from codegen.chat.clients import with_protocol
from codegen.llm import LlmProposer
from codegen.scripted.proposer import ScriptedProposer
from experiments.benchmarks.in_memory import MemoryJournal
from experiments.benchmarks.measurements.asking import ANSWERS_FILE, SharedClients
from experiments.benchmarks.measurements.evaluator import StoredEvaluator
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from experiments.benchmarks.model_studies.cell import (
    Cell,
    Gain,
    ModelCellResult,
    TaskOfStudy,
    line_of,
)
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelPlan, ModelStudyFolder, cells_of
from experiments.benchmarks.model_studies.proposer import Alone, FirstThen
from experiments.runs.folders import folder as rundir
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal
from experiments.runs.options.config import CONFIG_FILE, RunConfig
from experiments.runs.options.libraries import open_library
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring.begun_hardware import as_begun
from experiments.runs.wiring.choosing import REPLAY
from experiments.runs.wiring.composing import build_optimizer, evaluator_of
from experiments.runs.wiring.resolving import resolve
from mcts.errors import AnswerPending, InputError, Suspended, WorldError
from mcts.journal.record import Result
from mcts.loop.progress import Progress
from mcts.options import OFF, JudgingOptions, Limits, ModelOptions, SearchOptions
from mcts.ports import Evaluator, Journal, Proposer

Show = Callable[[int, int], None]
"""Takes how many runs are done and how many there are."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """How this session asks and measures: what may differ from one to the next.

    model: where the model is asked. judging: who measures, and on which device. at_once: how many
    runs of a task go on side by side.
    """

    model: ModelOptions
    judging: JudgingOptions
    at_once: int


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
        task = _source(given, study).task
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
    spent = sum(line.cost_usd or 0.0 for line in known.values())
    with folder.appending() as results, _Means(folder, plan.study, session, say=say) as means:
        for line in _lines(missing, means, session.at_once, tally):
            results.append([line])
            done, tally.done = done + 1, tally.done + 1
            show(done, len(cells))
            spent += line.cost_usd or 0.0
            _check_cost(line, spent, plan.study)
    if tally.refused and len(tally.refused) == len({cell.task.name for cell in cells}):
        raise InputError(next(iter(tally.refused.values())))
    return tally


def replayed(plan: ModelPlan, folder: ModelStudyFolder) -> Iterator[ModelCellResult]:
    """The lines that have a run, found again from the folder's answers and measurements alone.

    Raises WorldError for what the folder does not hold.
    """
    known = {line.key for line in folder.lines()}
    with _Means(folder, plan.study, None, say=lambda _: None) as means:
        for cell in cells_of(plan):
            if cell.key in known:
                yield means.again(cell)
                means.close_task(cell.task.name)


def _lines(
    cells: Sequence[Cell], means: _Means, at_once: int, tally: Tally
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


def _check_cost(line: ModelCellResult, spent: float, study: ModelStudy) -> None:
    """WorldError once the cap is reached, InputError if it cannot be kept."""
    if study.cost_usd is None:
        return
    if line.replies and line.cost_usd is None:
        raise InputError(
            "cost_usd cannot be kept: the cost of a reply is not known; give the model's price "
            "with --price MODEL=IN,OUT"
        )
    if spent >= study.cost_usd:
        raise WorldError(f"{spent:.2f} USD spent, the study's cap is {study.cost_usd:g}")


def _source(given: str, study: ModelStudy) -> TaskSource:
    """A task under the study's rules, which are for problem files alone."""
    is_problem = given.endswith(".py")
    return find_task(given, study.policy if is_problem else None)


class _Means:
    """The stores of a study's folder, and who asks and measures for each task. Thread-safe.

    Without a session nobody does: answers and measurements come from the folder.
    """

    def __init__(
        self, folder: ModelStudyFolder, study: ModelStudy, session: Session | None, *, say: Say
    ) -> None:
        self.say = say
        self._folder, self._study, self._session = folder, study, session
        path = folder.path
        self._store = MeasurementStore(path / MEASUREMENTS_FILE, read_only=session is None)
        self._clients = SharedClients(
            path / ANSWERS_FILE, session.model if session else None, run_id=study.name
        )
        self._evaluators: dict[tuple[str, str], StoredEvaluator] = {}
        self._lock = threading.RLock()
        self._stopping = threading.Event()

    def __enter__(self) -> _Means:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for task, _baseline in list(self._evaluators):
            self.close_task(task)
        self._store.close()

    def stop(self) -> None:
        """Ask nothing more; idempotent."""
        self._stopping.set()
        self._clients.close()

    def advance(self, cell: Cell) -> ModelCellResult:
        """Bring a run to its end, from wherever it is.

        Raises AnswerPending if it cannot go on without an answer, and what runs raise.
        """
        run = self._begun(cell)
        config = run.config
        with SqliteJournal(run.journal) as journal:
            return self._line(cell, run.task(config), config, journal, run.path)

    def again(self, cell: Cell) -> ModelCellResult:
        """The run from its beginning, with nothing written."""
        run = RunFolder(self._folder.run(cell))
        config = run.config
        return self._line(cell, run.task(config), config, MemoryJournal(), run.path)

    def close_task(self, name: str) -> None:
        """Release what measures a task."""
        with self._lock:
            for key in [key for key in self._evaluators if key[0] == name]:
                self._evaluators.pop(key).close()

    def _begun(self, cell: Cell) -> RunFolder:
        """The run's folder, made if there is none."""
        path = self._folder.run(cell)
        if (path / CONFIG_FILE).is_file():
            return RunFolder(path)
        assert self._session is not None, "a run that is replayed has a folder"
        request = RunRequest(
            task=cell.task.given,
            judging=self._session.judging.model_copy(update={"policy": self._study.policy}),
            search=SearchOptions(
                proposer="llm",
                seed=cell.seed,
                parallel=cell.spec.parallel,
                algorithm=cell.spec.algorithm,
                memory=Path(OFF),
                finalists=cell.finalists,
            ),
            model=cell.options.changed_by(self._session.model),
            limits=Limits(evaluations=cell.trials),
        )
        source = _source(cell.task.given, self._study)
        config = resolve(source, request)
        path.parent.mkdir(parents=True, exist_ok=True)
        return rundir.create(source, config, out=path)

    def _line(
        self, cell: Cell, source: TaskSource, config: RunConfig, journal: Journal, path: Path
    ) -> ModelCellResult:
        if config.judging.evaluator == REPLAY:
            with closing(evaluator_of(source, config, on_progress=self.say)) as evaluator:
                return self._searched(cell, source, config, evaluator, journal, path)
        evaluator = as_begun(self._evaluator(cell, source, config, "eager"), journal.events())
        return self._searched(cell, source, config, evaluator, journal, path)

    def _searched(
        self,
        cell: Cell,
        source: TaskSource,
        config: RunConfig,
        evaluator: Evaluator,
        journal: Journal,
        path: Path,
    ) -> ModelCellResult:
        proposer = self._proposer(cell, config, evaluator)
        told = -1

        def report(progress: Progress) -> None:
            nonlocal told
            if self._stopping.is_set():
                optimizer.stop()
            if not progress.replaying and progress.evaluations > max(0, told):
                told = progress.evaluations
                self.say(f"{cell.place} {told}/{progress.budget}: {progress.last}")

        with closing(proposer):
            optimizer = build_optimizer(
                source,
                config,
                evaluator=evaluator,
                journal=journal,
                run_dir=path,
                proposer=proposer,
                on_progress=report,
            )
            result = optimizer.run()
        if self._stopping.is_set() and result.evaluations < cell.trials:
            raise Suspended("the study was stopped")
        return line_of(cell, result, compiled=self._compiled(cell, source, config, result))

    def _compiled(
        self, cell: Cell, source: TaskSource, config: RunConfig, result: Result
    ) -> Gain | None:
        """The winner's speedup over torch.compile; None if it was not asked for, or has none."""
        best = result.best
        if not cell.over_compile or not source.task.dialect.in_pytorch or best.id == 0:
            return None
        if best.candidate is None or best.verdict is None or not best.verdict.measured:
            return None
        evaluator = self._evaluator(cell, source, config, "compile")
        again = evaluator.confirm(best.candidate, best.verdict)
        if not again.measured:
            self.say(f"{cell.place}: not measured over torch.compile: {again.message}")
        return Gain.of(again)

    def _proposer(self, cell: Cell, config: RunConfig, evaluator: Evaluator) -> Proposer:
        options = with_protocol(cell.options) if cell.options.library else cell.options
        asks: Proposer = LlmProposer(
            options,
            client=self._clients.of(options),
            library=open_library(config.library) if config.library else None,
            tunables_only=config.judging.evaluator == REPLAY,
            hardware=evaluator.hardware,
        )
        if cell.spec.alone:
            asks = Alone(asks)
        if cell.spec.first is None:
            return asks
        return FirstThen(asks, ScriptedProposer(), count=cell.spec.first)

    def _evaluator(
        self, cell: Cell, source: TaskSource, config: RunConfig, baseline: str
    ) -> StoredEvaluator:
        """One for all runs of a task that are timed over this baseline."""
        key = (cell.task.name, baseline)
        with self._lock:
            if key not in self._evaluators:
                self._evaluators[key] = self._made(source, config, baseline)
            return self._evaluators[key]

    def _made(self, source: TaskSource, config: RunConfig, baseline: str) -> StoredEvaluator:
        cap, session = self._study.gpu_minutes, self._session
        make: Callable[[], Evaluator] | None = None
        if session is not None:
            judging = config.judging.model_copy(
                update={
                    "baseline": baseline,
                    "device": session.judging.device,
                    "wait_minutes": session.judging.wait_minutes,
                }
            )
            if "evaluator" in session.judging.given():
                judging = judging.model_copy(update={"evaluator": session.judging.evaluator})
            asked = config.model_copy(update={"judging": judging})

            def make() -> Evaluator:
                self.say(f"preparing evaluator {judging.evaluator} for task {source.task.name}")
                return evaluator_of(source, asked, on_progress=lambda _: None)

        return StoredEvaluator(
            source.task,
            self._store,
            open=make,
            most_s=None if cap is None else 60 * cap,
            variant="" if baseline == "eager" else baseline,
        )
