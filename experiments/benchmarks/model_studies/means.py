"""Who asks and measures for the runs of a study, and one run from where it is to its end."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from codegen.chat.clients import with_protocol
from codegen.llm import LlmProposer
from codegen.scripted.proposer import ScriptedProposer
from experiments.benchmarks.measurements.asking import ANSWERS_FILE, SharedClients
from experiments.benchmarks.measurements.evaluator import StoredEvaluator
from experiments.benchmarks.measurements.session import Say, Session
from experiments.benchmarks.measurements.store import MEASUREMENTS_FILE, MeasurementStore
from experiments.benchmarks.model_studies.cell import (
    Cell,
    Gain,
    ModelCellResult,
    line_of,
)
from experiments.benchmarks.model_studies.config import ModelStudy
from experiments.benchmarks.model_studies.folder import ModelStudyFolder
from experiments.benchmarks.model_studies.proposer import Alone, FirstThen
from experiments.benchmarks.model_studies.unnamed import RECORDING, unnamed
from experiments.runs.folders import folder as rundir
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import SqliteJournal
from experiments.runs.memory.knowledge import knowledge_from
from experiments.runs.options.config import CONFIG_FILE, RunConfig
from experiments.runs.options.libraries import open_library
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring.begun_hardware import as_begun
from experiments.runs.wiring.choosing import LLM, REPLAY
from experiments.runs.wiring.composing import build_optimizer, build_proposer, evaluator_of
from experiments.runs.wiring.resolving import resolve
from mcts.errors import InputError, Suspended, UnfitTask
from mcts.journal.in_memory import MemoryJournal
from mcts.journal.record import Result
from mcts.loop.progress import Progress
from mcts.options import OFF, JudgingOptions, Limits, SearchOptions
from mcts.ports import Evaluator, Journal, Proposer
from microtools.toolbox import ChosenTools
from profilers.recordings.t4 import load_recording

UNNAMED = "unnamed"


def source_of(given: str, study: ModelStudy) -> TaskSource:
    """A task under the study's rules, which are for problem files alone."""
    is_problem = given.endswith(".py")
    return find_task(given, study.policy if is_problem else None)


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended, with what its line is made of."""

    cell: Cell
    source: TaskSource
    config: RunConfig
    result: Result


class Means:
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
        self._unfit: dict[tuple[str, str], InputError] = {}
        self._judging: dict[str, JudgingOptions] = {}
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self.others_wait = True
        """Whether more tasks are left than there are GPUs."""

    def __enter__(self) -> Means:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for task, _baseline in list(self._evaluators):
            self.close_task(task)
        self._store.close()

    def stop(self) -> None:
        """Ask and measure nothing more; idempotent."""
        first = not self._stopping.is_set()
        self._stopping.set()
        self._clients.close()
        evaluators = list(self._evaluators.values())
        for evaluator in evaluators:
            evaluator.stop()
        if first and any(evaluator.under_way for evaluator in evaluators):
            self.say("stopping: waiting for measurements under way; they are kept")

    def advance(self, cell: Cell) -> EndedRun:
        """Bring a run to its end, from wherever it is.

        Raises AnswerPending if it cannot go on without an answer, and what runs raise.
        """
        run = self._begun(cell)
        config = self._with_own_recording(cell, run.config)
        with SqliteJournal(run.journal) as journal:
            return self._ended(cell, run.task(config), config, journal, run.path)

    def again(self, cell: Cell) -> ModelCellResult:
        """The run from its beginning, with nothing written."""
        run = RunFolder(self._folder.run(cell))
        config = self._with_own_recording(cell, run.config)
        return self.line(self._ended(cell, run.task(config), config, MemoryJournal(), run.path))

    def line(self, run: EndedRun) -> ModelCellResult:
        """What is kept of a run, its winner measured over torch.compile if that is asked.

        No run of the task may be measuring meanwhile: a GPU has one evaluator at a time.
        """
        recording = run.config.recording
        return line_of(
            run.cell,
            run.result,
            compiled=self._compiled(run),
            recording=load_recording(recording.verified()) if recording else None,
        )

    def measure_on(self, task: str, judging: JudgingOptions) -> None:
        """Have a task measured as `judging` says, which names one GPU of the session's."""
        self._judging[task] = judging

    def close_task(self, name: str) -> None:
        """Release what measures a task."""
        with self._lock:
            for key in [key for key in self._evaluators if key[0] == name]:
                self._evaluators.pop(key).close()

    def _is_measuring(self, cell: Cell) -> bool:
        evaluator = self._evaluators.get((cell.task.name, "eager"))
        return evaluator is not None and evaluator.under_way > 0

    def _begun(self, cell: Cell) -> RunFolder:
        """The run's folder, made if there is none; anew if a kill came before its configuration."""
        path = self._folder.run(cell)
        if (path / CONFIG_FILE).is_file():
            return RunFolder(path)
        assert self._session is not None, "a run that is replayed has a folder"
        source = self._source(cell)
        request = RunRequest(
            task=source.given,
            judging=self._session.judging.model_copy(update={"policy": self._study.policy}),
            search=SearchOptions(
                proposer=cell.spec.proposer,
                seed=cell.seed,
                parallel=cell.spec.parallel,
                algorithm=cell.spec.algorithm,
                memory=Path(OFF),
                finalists=cell.finalists,
            ),
            model=cell.options.changed_by(self._session.model)
            if cell.spec.proposer == LLM
            else cell.options,
            limits=Limits(evaluations=cell.trials, stop_within=cell.spec.stop_within),
        )
        # What another study measured already needs no GPU.
        config = resolve(source, request, measures_now=False)
        known = knowledge_from(cell.spec.memory, besides=cell.task.name)
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        return rundir.create(source, config, knowledge=known, out=path)

    def _source(self, cell: Cell) -> TaskSource:
        """The task as the arm is shown it."""
        source = source_of(cell.task.given, self._study)
        if cell.spec.names:
            return source
        with self._lock:
            return unnamed(source, self._folder.path / UNNAMED / cell.task.name)

    def _ended(
        self, cell: Cell, source: TaskSource, config: RunConfig, journal: Journal, path: Path
    ) -> EndedRun:
        if config.judging.evaluator == REPLAY:
            with closing(evaluator_of(source, config, on_progress=self.say)) as evaluator:
                return self._searched(cell, source, config, evaluator, journal, path)
        evaluator = as_begun(self._evaluator(cell, source, config, "eager"), journal.events())
        return self._searched(cell, source, config, evaluator, journal, path)

    def _with_own_recording(self, cell: Cell, config: RunConfig) -> RunConfig:
        """A recording that was made for the study lies in its folder, wherever that is by now."""
        if cell.spec.names or config.recording is None:
            return config
        here = (self._folder.path / UNNAMED / cell.task.name / RECORDING).absolute()
        moved = config.recording.model_copy(update={"path": str(here)})
        return config.model_copy(update={"recording": moved})

    def _searched(
        self,
        cell: Cell,
        source: TaskSource,
        config: RunConfig,
        evaluator: Evaluator,
        journal: Journal,
        path: Path,
    ) -> EndedRun:
        proposer = self._proposer(cell, source, config, evaluator)
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
                profiles_best=False,
                on_progress=report,
            )
            result = optimizer.run()
        if self._stopping.is_set() and result.evaluations < cell.trials:
            raise Suspended("the study was stopped")
        return EndedRun(cell, source, config, result)

    def _compiled(self, run: EndedRun) -> Gain | None:
        """The winner's speedup over torch.compile; None if it was not asked for, or has none."""
        cell, source, config, best = run.cell, run.source, run.config, run.result.best
        if not cell.over_compile or not source.task.dialect.in_pytorch or best.id == 0:
            return None
        if best.candidate is None or best.verdict is None or not best.verdict.measured:
            return None
        with self._lock:
            if (over_eager := self._evaluators.get((cell.task.name, "eager"))) is not None:
                over_eager.close()
        try:
            evaluator = self._evaluator(cell, source, config, "compile")
        except UnfitTask as error:
            self.say(f"{cell.place}: not measured over torch.compile: {error}")
            return None
        again = evaluator.confirm(best.candidate, best.verdict)
        if not again.measured:
            self.say(f"{cell.place}: not measured over torch.compile: {again.message}")
        return Gain.of(again)

    def _proposer(
        self, cell: Cell, source: TaskSource, config: RunConfig, evaluator: Evaluator
    ) -> Proposer:
        if cell.spec.proposer != LLM:
            return build_proposer(source, config, hardware=evaluator.hardware)
        options = with_protocol(cell.options) if cell.options.library else cell.options
        asks: Proposer = LlmProposer(
            options,
            client=self._clients.of(
                options,
                is_measuring=lambda: self._is_measuring(cell),
                may_leave=lambda: self.others_wait,
            ),
            library=open_library(config.library) if config.library else None,
            tunables_only=config.judging.evaluator == REPLAY,
            hardware=evaluator.hardware,
            tools=ChosenTools(),
        )
        if cell.spec.alone:
            asks = Alone(asks)
        if cell.spec.first is None:
            return asks
        return FirstThen(asks, ScriptedProposer(), count=cell.spec.first)

    def _evaluator(
        self, cell: Cell, source: TaskSource, config: RunConfig, baseline: str
    ) -> StoredEvaluator:
        """One for all runs of a task that are timed over this baseline.

        InputError if the task cannot be judged; that is tried once in a session.
        """
        key = (cell.task.name, baseline)
        with self._lock:
            if self._stopping.is_set():
                raise Suspended("the study was stopped")
            if key in self._unfit:
                raise self._unfit[key]
            if key not in self._evaluators:
                try:
                    self._evaluators[key] = self._made(source, config, baseline)
                except InputError as error:
                    self._unfit[key] = error
                    raise
            return self._evaluators[key]

    def _made(self, source: TaskSource, config: RunConfig, baseline: str) -> StoredEvaluator:
        cap, session = self._study.gpu_minutes, self._session
        make: Callable[[], Evaluator] | None = None
        if session is not None:
            now = self._judging.get(source.task.name, session.judging)
            judging = config.judging.going_on_with(now).model_copy(update={"baseline": baseline})
            if "evaluator" in now.given():
                judging = judging.model_copy(update={"evaluator": now.evaluator})
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
            mixed_gpus=self._study.mixed_gpus,
        )
