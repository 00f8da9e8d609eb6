"""`rooftree.optimize`: a search from Python, of a named task or of one's own parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from experiments.api.plain import FunctionEvaluator, Measure, SilentAdvisor, task_of
from experiments.api.results import Result
from experiments.app.messages import say
from experiments.app.optimize import resume_in_folder, run_in_folder
from experiments.runs.folders.folder import RunFolder
from experiments.runs.folders.journal import read_events
from experiments.runs.options import names
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import find_task
from experiments.runs.wiring import composing
from experiments.runs.wiring.choosing import LLM, SCRIPTED, resolve_settings
from experiments.runs.wiring.resolving import resolve
from mcts.domain import KernelTask, Scalar, first_problem
from mcts.errors import InputError
from mcts.journal.in_memory import MemoryJournal
from mcts.loop.optimizer import Budget, Optimizer
from mcts.loop.progress import Progress
from mcts.options import (
    AUTO,
    OFF,
    Algorithm,
    JudgingOptions,
    Limits,
    ModelOptions,
    Options,
    SearchOptions,
)
from mcts.ports import Advisor, Evaluator, Journal, Proposer
from mcts.requests import ProposerRequest
from mcts.search.port import SearchSettings

AnyOptions = TypeVar("AnyOptions", bound=Options)
Space = Mapping[str, Sequence[Scalar]]
"""Tunables with their values, the first of each being the baseline's."""


def optimize(
    task: str | Path | KernelTask | Space,
    *,
    evaluator: str | Evaluator | Measure = AUTO,
    proposer: str | Proposer = AUTO,
    model: str | ModelOptions | None = None,
    evaluations: int | None = None,
    limits: Limits | None = None,
    search: str | Algorithm | SearchSettings = "puct",
    seed: int = 0,
    parallel: int = 1,
    where: Sequence[str] = (),
    judging: JudgingOptions | None = None,
    advisor: Advisor | None = None,
    journal: Journal | None = None,
    memory: str | Path = OFF,
    out: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Search for the fastest variant.

    task: the name of a bundled task, a task folder, a KernelBench problem file, a `KernelTask`, or
    tunables with their values, of which the first make the baseline; `where` are then expressions
    that every combination must satisfy.

    evaluator: a name as ``--evaluator`` takes it, an `Evaluator`, or a function of a candidate that
    returns its time in microseconds (any cost above 0), alone or with its noise; what it raises is
    a failed candidate. proposer: a name, or a `Proposer`; without one the scripted proposer, or the
    language model if one is named. model: its name, or all options of asking it.

    evaluations: trials, failures included (60 unless `limits` say otherwise). search: a name, a
    name with constants, or the settings of a search of one's own. The same seed and answers give
    the same tree. `judging` are further rules for a named evaluator. advisor: silent by default for
    an evaluator of one's own. journal: any `Journal`; a run on one that holds events goes on.

    out: a folder to keep the run in, as the command does: journal, report, best kernel. Without it,
    and without a journal, the run lives in memory and is gone with the process; a model, which
    costs money, is then refused. `memory` is a file that runs kept in folders learn from and teach.

    on_progress: called after each step, in the caller's thread.

    Raises InputError for what does not fit together and if the baseline fails, WorldError if a
    service, a device or a file fails again and again.
    """
    if not isinstance(proposer, str | Proposer):
        raise InputError(f"proposer: a name or a Proposer, not {proposer!r:.60}")
    if not isinstance(search, str | Algorithm | SearchSettings):
        raise InputError(f"search: a name, an Algorithm or SearchSettings, not {search!r:.60}")
    own = not (isinstance(task, str | Path) and isinstance(evaluator, str))
    own = own or not isinstance(proposer, str) or isinstance(search, SearchSettings)
    own = own or advisor is not None or journal is not None
    asked = _Asked(
        limits=_limits(evaluations, limits),
        model=ModelOptions(name=model) if isinstance(model, str) else model or ModelOptions(),
        search=search,
        seed=seed,
        parallel=parallel,
    )
    if where and not isinstance(task, Mapping):
        raise InputError("where: constraints belong to the task, unless it is given as tunables")
    if not own:
        assert isinstance(evaluator, str) and isinstance(proposer, str), "only names are left"
        request = asked.request(str(task), evaluator, proposer, judging, memory, out)
        if out is None:
            return _in_memory(request, on_progress)
        done = run_in_folder(request, display="quiet", on_progress=on_progress)
        return Result(done.result, done.facts, done.folder.task(done.folder.config).task,
                      done.folder.path)  # fmt: skip
    if out is not None:
        raise InputError(
            "out: a run folder can only be resumed by names; give a journal= to keep a run of "
            "parts of your own, such as rooftree.SqliteJournal(path)"
        )
    return _of_parts(
        task, evaluator, proposer, asked,
        where=where, judging=judging, advisor=advisor, journal=journal, on_progress=on_progress,
    )  # fmt: skip


def resume(
    folder: str | Path,
    *,
    evaluations: int | None = None,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Go on with a run that is kept in a folder, to further limits if they are given."""
    wider = None if evaluations is None and limits is None else _limits(evaluations, limits)
    done = resume_in_folder(Path(folder), limits=wider, display="quiet", on_progress=on_progress)
    return load_run(done.folder.path)


def load_run(folder: str | Path) -> Result:
    """A run from its folder, also while it goes on. InputError if there is none."""
    path = Path(folder)
    kept = RunFolder(path)
    return Result.read(read_events(path), kept.task(kept.config).task, path)


class _Asked:
    """What the options say, in the forms in which the parts take it."""

    def __init__(
        self,
        *,
        limits: Limits,
        model: ModelOptions,
        search: str | Algorithm | SearchSettings,
        seed: int,
        parallel: int,
    ) -> None:
        self.limits, self.model = limits, model
        self.search = Algorithm(name=search) if isinstance(search, str) else search
        checked = _read(SearchOptions, seed=seed, parallel=parallel)
        self.seed, self.parallel = checked.seed, checked.parallel

    def request(
        self,
        task: str,
        evaluator: str,
        proposer: str,
        judging: JudgingOptions | None,
        memory: str | Path,
        out: str | Path | None,
    ) -> RunRequest:
        """As the command line would ask for it."""
        assert isinstance(self.search, Algorithm), "settings of one's own are wired by hand"
        return RunRequest(
            task=task,
            judging=_judging(judging, evaluator),
            search=SearchOptions(
                proposer=proposer,
                seed=self.seed,
                parallel=self.parallel,
                algorithm=self.search,
                memory=Path(memory),
            ),
            model=self.model,
            limits=self.limits,
            out=None if out is None else Path(out),
        )


def _limits(evaluations: int | None, limits: Limits | None) -> Limits:
    found = limits or Limits()
    if evaluations is None:
        return found
    return _read(Limits, **{**found.model_dump(exclude_unset=True), "evaluations": evaluations})


def _read(model: type[AnyOptions], **values: Any) -> AnyOptions:
    """Options from values of a caller's. InputError says which of them is wrong."""
    try:
        return model(**values)
    except ValidationError as error:
        raise InputError(first_problem(error, model)) from None


def _judging(judging: JudgingOptions | None, evaluator: str) -> JudgingOptions:
    found = judging or JudgingOptions()
    if evaluator == AUTO:
        return found
    return JudgingOptions(**{**found.model_dump(exclude_unset=True), "evaluator": evaluator})


def _in_memory(request: RunRequest, on_progress: Callable[[Progress], None] | None) -> Result:
    """A run of named parts that leaves nothing behind."""
    source = find_task(
        request.task, request.judging.policy, request.judging.dialect, request.judging.kernel
    )
    config = resolve(source, request)
    if config.search.proposer == LLM:
        raise InputError("a run that asks a model is kept in a folder: give out=")
    journal = MemoryJournal()
    with closing(composing.evaluator_of(source, config, on_progress=say)) as evaluator:
        optimizer = composing.build_optimizer(
            source,
            config,
            evaluator=evaluator,
            journal=journal,
            on_progress=on_progress or _nothing,
        )
        with composing.released(optimizer.proposer):
            optimizer.run()
    return Result.read(journal.events(), source.task)


def _nothing(_: Progress) -> None:
    pass


def _of_parts(
    task: str | Path | KernelTask | Space,
    evaluator: str | Evaluator | Measure,
    proposer: str | Proposer,
    asked: _Asked,
    *,
    where: Sequence[str],
    judging: JudgingOptions | None,
    advisor: Advisor | None,
    journal: Journal | None,
    on_progress: Callable[[Progress], None] | None,
) -> Result:
    """A run of parts, some of them the caller's own; those made here are closed here."""
    with ExitStack() as opened:
        judge = _evaluator(task, evaluator, where, judging, opened)
        writer = _proposer(proposer, judge, asked, kept=journal is not None, opened=opened)
        advises = advisor or (_roofline() if isinstance(evaluator, str) else SilentAdvisor())
        kept = journal if journal is not None else MemoryJournal()
        settings: dict[str, Any] = {}
        if isinstance(asked.search, SearchSettings):
            settings["search_settings"] = asked.search
        else:
            search, reward = resolve_settings(asked.search)
            settings |= {"search_settings": search, "reward_settings": reward}
        Optimizer(
            task=judge.task,
            proposer=writer,
            evaluator=judge,
            advisor=advises,
            journal=kept,
            budget=Budget.of(asked.limits),
            seed=asked.seed,
            parallel=asked.parallel,
            finalists=3 if judge.can_confirm else 0,
            signatures=composing.signatures(),
            on_progress=on_progress,
            **settings,
        ).run()
        return Result.read(kept.events(), judge.task)


def _evaluator(
    task: str | Path | KernelTask | Space,
    evaluator: str | Evaluator | Measure,
    where: Sequence[str],
    judging: JudgingOptions | None,
    opened: ExitStack,
) -> Evaluator:
    """The evaluator, which knows its task."""
    if isinstance(evaluator, str):
        if not isinstance(task, str | Path):
            raise InputError(
                f"evaluator {evaluator!r} judges tasks by name; give a function or an Evaluator "
                "for a task made in Python"
            )
        rules = _judging(judging, evaluator)
        source = find_task(str(task), rules.policy, rules.dialect, rules.kernel)
        made = composing.choose_evaluator(source, rules, on_progress=say)
        return opened.enter_context(closing(made))
    if judging is not None:
        raise InputError("judging: these options are for an evaluator by name")
    if isinstance(evaluator, Evaluator):
        return evaluator
    if not callable(evaluator):
        raise InputError(f"evaluator: a name, an Evaluator or a function, not {evaluator!r:.60}")
    if isinstance(task, Mapping):
        return FunctionEvaluator(evaluator, task_of(task, where=where))
    found = task if isinstance(task, KernelTask) else find_task(str(task)).task
    return FunctionEvaluator(evaluator, found)


def _proposer(
    proposer: str | Proposer, judge: Evaluator, asked: _Asked, *, kept: bool, opened: ExitStack
) -> Proposer:
    if isinstance(proposer, Proposer):
        return proposer
    name = proposer
    if name == AUTO:
        name = LLM if asked.model.name is not None else SCRIPTED
    if name == LLM and not kept:
        raise InputError("a run that asks a model is kept: give a journal=")
    request = ProposerRequest(
        task=judge.task,
        tunables_only=not judge.task.dialect.has_source,
        model=asked.model,
        limits=asked.limits,
        hardware=judge.hardware,
    )
    made: Proposer = names.load(names.PROPOSERS, name)(request)
    return opened.enter_context(closing(made))


def _roofline() -> Advisor:
    from microtools.advisor import RooflineAdvisor

    return RooflineAdvisor()
