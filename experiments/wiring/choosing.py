"""From what was asked to a run's configuration: every `auto` decided, every name known."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from experiments.machines.machine import gpu_problem
from experiments.memories.toolmemory import default_path
from experiments.tasksets.taskfiles import TaskSource
from experiments.wiring import names
from experiments.wiring.asking import Asking, check_address, repriced, with_protocol
from experiments.wiring.config import RecordingReference, RunConfig
from experiments.wiring.libraries import read_library
from experiments.wiring.misfits import (
    ASKS_NO_MODEL,
    check_evaluator,
    check_gpu_cap,
    check_library,
    check_model_options,
    check_paid_caps,
    check_proposer,
)
from experiments.wiring.parts import NO_MODEL
from experiments.wiring.request import AUTO, OFF, Measuring, RunRequest
from mcts.domain import PYTORCH_DIALECTS
from mcts.errors import InputError
from mcts.objective import OBJECTIVES, Objective
from mcts.searches import AnySettings

REPLAY, GPU = "replay", "gpu"
SCRIPTED, LLM = "scripted", "llm"


def rooftree_version() -> str:
    try:
        return version("rooftree")
    except PackageNotFoundError:
        return "0+unknown"


def resolve(source: TaskSource, request: RunRequest) -> RunConfig:
    """A run's configuration with every `auto` decided and every name known to exist."""
    proposer = resolve_proposer(request.proposer, model=request.model, api_base=request.api_base)
    check_proposer(source.task, proposer)
    check_model_options(proposer, request.asking, model=request.model)
    check_library(request.library, proposer, request.asking)
    check_address(request.api_base)
    evaluator = fitting_evaluator(
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
    library = read_library(request.library) if request.library else None
    asking = request.asking
    if library is not None:
        asking = with_protocol(asking, model=request.model, api_base=request.api_base)
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
        asking=None if proposer == SCRIPTED else asking,
        library=library,
        seed=request.seed,
        parallel=request.parallel,
        device=request.device,
        search=request.search,
        search_settings=_search_settings(request, proposer),
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
        dialect=request.measuring.dialect,
        includes=tuple(str(path.absolute()) for path in request.measuring.includes),
    )
    resolve_settings(config.search, config.search_settings)
    _check_caps(config)
    return config


def _search_settings(request: RunRequest, proposer: str) -> dict[str, int | float]:
    """What was asked for. A model is not told to leap unless it was: it writes code, and has no
    space in which the run's times could point somewhere.
    """
    of_a_model = {"leaps": 0} if proposer == LLM and request.search == "puct" else {}
    return {**of_a_model, **request.search_settings}


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


def resolve_evaluator(
    source: TaskSource, wanted: str, recording: Path | None, *, device: int = 0
) -> str:
    """`auto` becomes gpu where a GPU can be used, else replay where there is a recording.

    Raises InputError with what stands in the way of both.
    """
    torch = source.task.dialect in PYTORCH_DIALECTS
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
        f"task {source.task.name!r} cannot be measured here ({problem}) and has no recording to "
        "replay: give one with --recording FILE"
    )


def fitting_evaluator(
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
    if chosen in ASKS_NO_MODEL and model is not None:
        raise InputError(f"--model is for the llm proposer: leave out --proposer {chosen}")
    if chosen in ASKS_NO_MODEL and api_base is not None:
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
