"""The composition root: from what was asked to the parts that do it."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from experiments import names
from experiments.asking import Asking, check_address, repriced
from experiments.calibration import firings
from experiments.config import RecordingReference, RunConfig
from experiments.crediting import credited
from experiments.gathering import Origin, contributions_of
from experiments.knowledge import KnowledgeStore
from experiments.machine import gpu_problem
from experiments.memoryfile import MemoryUnavailable
from experiments.misfits import (
    check_evaluator,
    check_gpu_cap,
    check_model_options,
    check_paid_caps,
    check_proposer,
)
from experiments.parts import NO_MODEL, EvaluatorRequest, ProposerRequest
from experiments.request import AUTO, OFF, Measuring, RunRequest
from experiments.snapshot import read_snapshot
from experiments.taskfiles import TaskSource
from experiments.toolmemory import ToolMemory, default_path
from mcts.attributor import Attributor
from mcts.briefing import Signatures
from mcts.domain import Hardware, KernelTask
from mcts.errors import InputError
from mcts.knowledge.base import Knowledge
from mcts.objective import OBJECTIVES, Objective
from mcts.optimize import Budget, Optimizer, Progress
from mcts.ports import Advisor, Evaluator, Event, Journal, Proposer, Remover
from mcts.record import Result
from mcts.searches import AnySettings

REPLAY, GPU = "replay", "gpu"
SCRIPTED, LLM = "scripted", "llm"
_PLAIN = Measuring()


@runtime_checkable
class Closable(Protocol):
    """A proposer that holds connections or files."""

    def close(self) -> None:
        """Give them up, and with them what is in flight; idempotent."""
        ...


def rooftree_version() -> str:
    try:
        return version("rooftree")
    except PackageNotFoundError:
        return "0+unknown"


def resolve_evaluator(
    source: TaskSource, wanted: str, recording: Path | None, *, device: int = 0
) -> str:
    """`auto` becomes gpu where a GPU can be used, else replay where there is a recording.

    Raises InputError with what stands in the way of both.
    """
    torch = source.task.dialect == "kernelbench"
    if wanted == GPU and (problem := gpu_problem(device, torch=torch)):
        raise InputError(f"--evaluator gpu cannot be used here: {problem}")
    if wanted != AUTO:
        return wanted
    if recording is not None or source.task.dialect == "space":
        return REPLAY
    problem = gpu_problem(device, torch=torch)
    if problem is None:
        return GPU
    if source.recordings:
        return REPLAY
    if torch:
        raise InputError(f"task {source.task.name!r} cannot be measured here: {problem}")
    raise InputError(
        f"task {source.task.name!r} has no recording to replay, give one with --recording FILE; "
        f"and cannot be measured here: {problem}"
    )


def _fitting_evaluator(
    source: TaskSource,
    wanted: str,
    measuring: Measuring,
    *,
    recording: Path | None,
    device: int,
    wait_minutes: float | None = None,
) -> str:
    """`resolve_evaluator`, for options of which none would do nothing. InputError for one."""

    def check(name: str) -> None:
        check_evaluator(
            source.task, name, measuring, recording=recording, wait_minutes=wait_minutes
        )

    check(wanted)
    name = resolve_evaluator(source, wanted, recording, device=device)
    check(name)
    return name


def resolve_recording(source: TaskSource, evaluator: str, recording: Path | None) -> Path | None:
    """The recording to replay: the one given, else the task's last by name."""
    if evaluator != REPLAY:
        return None
    if recording is not None:
        return recording
    return source.recordings[-1] if source.recordings else None


def resolve_proposer(wanted: str, *, model: str | None, api_base: str | None) -> str:
    """`auto` becomes llm where a model is named, else scripted."""
    chosen = wanted if wanted != AUTO else LLM if model is not None else SCRIPTED
    names.load(names.PROPOSERS, chosen)
    if chosen == LLM and model is None:
        raise InputError(NO_MODEL)
    if chosen == SCRIPTED and model is not None:
        raise InputError("--model is for the llm proposer: leave out --proposer scripted")
    if chosen == SCRIPTED and api_base is not None:
        raise InputError("--api-base is for the llm proposer: give --model NAME with it")
    return chosen


def resolve_settings(search: str, overrides: Mapping[str, int | float]) -> AnySettings:
    """The constants of the named search, some of them overridden. InputError for a bad one."""
    factory = names.load(names.SEARCHES, search)
    known = inspect.signature(factory).parameters
    if unknown := sorted(set(overrides) - set(known)):
        raise InputError(f"search {search} has no setting {unknown[0]!r}: {', '.join(known)}")
    try:
        settings: AnySettings = factory(**overrides)
    except (TypeError, ValueError) as error:
        raise InputError(f"search setting: {error}") from None
    return settings


def resolve_memory(evaluator: str, wanted: Path | None) -> str | None:
    """The memory a run learns from and teaches: the one given, none for `off`, else the user's for
    live measurements.

    A replay uses none unless told to: played a hundred times, one recording would drown what was
    measured, and what a memory says would change what the same seed finds.
    """
    if wanted == OFF:
        return None
    if wanted is not None:
        return str(wanted.absolute())
    return None if evaluator == REPLAY else str(default_path())


def remember(config: RunConfig, *, gpu: str, asked: bool) -> tuple[RunConfig, Knowledge]:
    """`config` with what its memory says of the tools on `gpu`, and what it knows of methods.

    InputError for a bad memory. Where nobody `asked` for it and there is none, one that cannot be
    made is no trouble before there is something to keep.
    """
    if config.memory is None:
        return config, Knowledge()
    from microtools.ranking import ToolRecord, calibrated_weights

    path = Path(config.memory)
    try:
        if asked:
            with KnowledgeStore(path):
                pass
        if not path.exists():
            return config, Knowledge()
    except MemoryUnavailable:
        if not path.exists():
            raise
    with ToolMemory(path, readonly=True) as memory:
        rows = memory.statistics(gpu=gpu, proposer=proposer_label(config))
    with KnowledgeStore(path, readonly=True) as store:
        knowledge = store.knowledge()
    records = [
        ToolRecord(row.tool, row.followed, row.improved, row.failed, row.mean_log_gain)
        for row in rows
    ]
    return config.model_copy(update={"tool_weights": calibrated_weights(records)}), knowledge


def learn(
    config: RunConfig,
    result: Result,
    events: Iterable[Event],
    *,
    gpu: str,
    task: KernelTask,
    run_dir: Path,
) -> None:
    """Teach the run's memory what each tool's advice, and each method, came to. WorldError where it
    cannot."""
    if config.memory is None:
        return
    with ToolMemory(Path(config.memory)) as memory:
        memory.learn(
            config.run_id,
            gpu=gpu,
            proposer=proposer_label(config),
            fired=firings(result),
            followed=credited(result),
        )
    origin = Origin(
        run=config.run_id,
        task=task,
        gpu=gpu,
        proposer=proposer_label(config),
        knowledge=read_snapshot(run_dir, config.knowledge),
        signatures=signatures(),
    )
    with KnowledgeStore(Path(config.memory)) as store:
        store.add(contributions_of(result, events, origin))


def proposer_label(config: RunConfig) -> str:
    """Who proposes, with the model where there is one."""
    return f"{config.proposer} ({config.model})" if config.model else config.proposer


def resolve(source: TaskSource, request: RunRequest) -> RunConfig:
    """A run's configuration with every `auto` decided and every name known to exist."""
    proposer = resolve_proposer(request.proposer, model=request.model, api_base=request.api_base)
    check_proposer(source.task, proposer)
    check_model_options(proposer, request.asking, model=request.model)
    check_address(request.api_base)
    evaluator = _fitting_evaluator(
        source,
        request.evaluator,
        request.measuring,
        recording=request.recording,
        device=request.device,
        wait_minutes=request.wait_minutes,
    )
    base, argument = names.split(evaluator)
    names.load(names.EVALUATORS, base)
    if argument:  # a resumed run may be started from another folder
        evaluator = f"{base}:{Path(argument).absolute()}"
    tape = resolve_recording(source, evaluator, request.recording)
    config = RunConfig(
        rooftree=rooftree_version(),
        task=source.given,
        task_name=source.task.name,
        evaluator=evaluator,
        proposer=proposer,
        model=request.model,
        api_base=request.api_base,
        evaluations=request.evaluations,
        minutes=request.minutes,
        max_cost_usd=request.max_cost_usd,
        max_tokens=request.max_tokens,
        max_gpu_minutes=request.max_gpu_minutes,
        asking=None if proposer == SCRIPTED else request.asking,
        seed=request.seed,
        parallel=request.parallel,
        device=request.device,
        search=request.search,
        search_settings=request.search_settings,
        recording=RecordingReference.of(tape) if tape else None,
        run_id=uuid.uuid4().hex,
        memory=resolve_memory(evaluator, request.memory),
        objective=_objective(request.objective),
        finalists=request.finalists,
        compiled=request.measuring.compiled,
        ungated=request.measuring.ungated,
        unsafe=request.measuring.unsafe,
        wait_minutes=request.wait_minutes,
        policy=request.measuring.policy,
    )
    resolve_settings(config.search, config.search_settings)
    _check_caps(config)
    return config


def widened(
    config: RunConfig, *, prices: Sequence[str] = (), **caps: float | int | None
) -> RunConfig:
    """`config` with those of its limits that are not None, named as in `RunConfig`, and with
    `prices` in place of its own where there are any.

    InputError for one that would do nothing in this run.
    """
    given: dict[str, Any] = {name: cap for name, cap in caps.items() if cap is not None}
    if prices:
        given["asking"] = repriced(config.asking, prices)
        check_model_options(config.proposer, given["asking"], model=config.model)
    wider = config.model_copy(update=given)
    _check_caps(wider)
    return wider


def _check_caps(config: RunConfig) -> None:
    check_paid_caps(
        config.proposer,
        config.asking or Asking(),
        max_cost_usd=config.max_cost_usd,
        max_tokens=config.max_tokens,
    )
    check_gpu_cap(config.evaluator, config.max_gpu_minutes)


def _objective(wanted: str) -> Objective:
    for objective in OBJECTIVES:
        if wanted == objective:
            return objective
    raise InputError(f"unknown objective {wanted!r}: {', '.join(OBJECTIVES)}")


def choose_evaluator(
    source: TaskSource,
    wanted: str,
    *,
    recording: Path | None = None,
    device: int = 0,
    seed: int = 0,
    measuring: Measuring = _PLAIN,
    on_progress: Callable[[str], None],
) -> Evaluator:
    """The evaluator to judge candidates with outside a run, `auto` decided."""
    name = _fitting_evaluator(source, wanted, measuring, recording=recording, device=device)
    request = EvaluatorRequest(
        task=source.task,
        recording=resolve_recording(source, name, recording),
        seed=seed,
        device=device,
        compiled=measuring.compiled,
        ungated=measuring.ungated,
        unsafe=measuring.unsafe,
        argument=names.split(name)[1],
        on_progress=on_progress,
    )
    return build_evaluator(name, request)


def build_evaluator(name: str, request: EvaluatorRequest) -> Evaluator:
    """The named evaluator of a task. InputError when it is not known or cannot work here."""
    evaluator: Evaluator = names.load(names.EVALUATORS, names.split(name)[0])(request)
    return evaluator


def build_proposer(
    source: TaskSource, config: RunConfig, *, hardware: Hardware, run_dir: Path | None = None
) -> Proposer:
    """The named proposer; it is told what hardware will measure, and where it may keep things."""
    request = ProposerRequest(
        task=source.task,
        tunables_only=config.evaluator == REPLAY,
        model=config.model,
        api_base=config.api_base,
        asking=config.asking,
        run_dir=run_dir,
        run_id=config.run_id,
        max_cost_usd=config.max_cost_usd,
        hardware=hardware,
    )
    proposer: Proposer = names.load(names.PROPOSERS, config.proposer)(request)
    return proposer


def build_advisor(config: RunConfig) -> Advisor:
    from microtools.advisor import RooflineAdvisor

    return RooflineAdvisor(weights=config.tool_weights)


def evaluator_of(
    source: TaskSource, config: RunConfig, *, on_progress: Callable[[str], None]
) -> Evaluator:
    """The evaluator a configuration names; its recording must be the one the run began with."""
    request = EvaluatorRequest(
        task=source.task,
        recording=config.recording.verified() if config.recording else None,
        seed=config.seed,
        device=config.device,
        compiled=config.compiled,
        ungated=config.ungated,
        unsafe=config.unsafe,
        argument=names.split(config.evaluator)[1],
        run_id=config.run_id,
        wait_minutes=config.wait_minutes,
        on_progress=on_progress,
    )
    return build_evaluator(config.evaluator, request)


def build_optimizer(
    source: TaskSource,
    config: RunConfig,
    *,
    evaluator: Evaluator,
    journal: Journal,
    run_dir: Path | None = None,
    on_progress: Callable[[Progress], None],
) -> Optimizer:
    """Everything wired; the evaluator is handed in because its caller must close it.

    The caller must close its proposer too, with `released`. `run_dir` is where answers of a
    language model are kept.
    """
    return Optimizer(
        task=source.task,
        proposer=build_proposer(source, config, hardware=evaluator.hardware, run_dir=run_dir),
        evaluator=evaluator,
        advisor=build_advisor(config),
        journal=journal,
        search_settings=resolve_settings(config.search, config.search_settings),
        budget=budget_of(config),
        seed=config.seed,
        parallel=config.parallel,
        objective=config.objective,
        finalists=config.finalists,
        signatures=signatures(),
        knowledge=read_snapshot(run_dir, config.knowledge) if run_dir else None,
        on_progress=on_progress,
    )


def build_attributor(
    source: TaskSource,
    config: RunConfig,
    *,
    evaluator: Evaluator,
    journal: Journal,
    proposer: Proposer | None,
) -> Attributor:
    """What weighs the methods of a run, under the run's own caps.

    A `proposer` that is a Remover takes out what no tunable can; its caller must close it.
    """
    return Attributor(
        task=source.task,
        evaluator=evaluator,
        journal=journal,
        remover=proposer if isinstance(proposer, Remover) else None,
        signatures=signatures(),
        budget=budget_of(config),
    )


def signatures() -> Signatures:
    """By method whether a profile's machine code shows it, as the playbook says."""
    from codegen import playbook

    return playbook.signatures()


def budget_of(config: RunConfig) -> Budget:
    """How far the run may go."""
    return Budget(
        evaluations=config.evaluations,
        minutes=config.minutes,
        cost_usd=config.max_cost_usd,
        tokens=config.max_tokens,
        gpu_minutes=config.max_gpu_minutes,
    )


@contextmanager
def released(proposer: Proposer | None) -> Iterator[None]:
    """Give up what a proposer holds at the end, so that no thread waits for an answer."""
    try:
        yield
    finally:
        if isinstance(proposer, Closable):
            proposer.close()
