"""From what was asked to a run's configuration, and to one whose limits are wider."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from experiments.runs.options import names
from experiments.runs.options.asking import Asking, check_address, repriced, with_protocol
from experiments.runs.options.config import RecordingReference, RunConfig
from experiments.runs.options.conflicts import (
    check_gpu_cap,
    check_library,
    check_model_options,
    check_paid_caps,
    check_proposer,
)
from experiments.runs.options.libraries import read_library
from experiments.runs.options.request import Measuring, RunRequest
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring.choosing import (
    LLM,
    SCRIPTED,
    fitting_evaluator,
    resolve_memory,
    resolve_objective,
    resolve_proposer,
    resolve_recording,
    resolve_settings,
)


def rooftree_version() -> str:
    try:
        return version("rooftree")
    except PackageNotFoundError:
        return "0+unknown"


def resolve(source: TaskSource, request: RunRequest) -> RunConfig:
    """A run's configuration with every `auto` decided and every name known to exist."""
    proposer = _proposer(source, request)
    evaluator = _evaluator(source, request)
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
        objective=resolve_objective(request.objective),
        finalists=request.finalists,
        wait_minutes=request.wait_minutes,
        **_limits(request),
        **_measuring(request.measuring),
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


def _proposer(source: TaskSource, request: RunRequest) -> str:
    """The name of the proposer, which can do this task and heeds the options about a model."""
    proposer = resolve_proposer(request.proposer, model=request.model, api_base=request.api_base)
    check_proposer(source.task, proposer)
    check_model_options(proposer, request.asking, model=request.model)
    check_library(request.library, proposer, request.asking)
    check_address(request.api_base)
    return proposer


def _evaluator(source: TaskSource, request: RunRequest) -> str:
    """The name of the evaluator, which heeds the options about measuring, with its argument."""
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
        return f"{base}:{Path(argument).absolute()}"
    return evaluator


def _search_settings(request: RunRequest, proposer: str) -> dict[str, int | float]:
    """What was asked for. A model is not told to leap unless it was: it writes code, and has no
    space in which the run's times could point somewhere.
    """
    of_a_model = {"leaps": 0} if proposer == LLM and request.search == "puct" else {}
    return {**of_a_model, **request.search_settings}


def _limits(request: RunRequest) -> dict[str, Any]:
    return {
        "evaluations": request.evaluations,
        "minutes": request.minutes,
        "max_cost_usd": request.max_cost_usd,
        "max_tokens": request.max_tokens,
        "max_gpu_minutes": request.max_gpu_minutes,
    }


def _measuring(measuring: Measuring) -> dict[str, Any]:
    return {
        "compiled": measuring.compiled,
        "ungated": measuring.ungated,
        "unsafe": measuring.unsafe,
        "policy": measuring.policy,
        "dialect": measuring.dialect,
        "includes": tuple(str(path.absolute()) for path in measuring.includes),
    }


def _check_caps(config: RunConfig) -> None:
    check_paid_caps(
        config.proposer,
        config.asking or Asking(),
        max_cost_usd=config.max_cost_usd,
        max_tokens=config.max_tokens,
    )
    check_gpu_cap(config.evaluator, config.max_gpu_minutes)
