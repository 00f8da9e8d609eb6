"""From what was asked to a run's configuration, and to one whose limits are wider."""

from __future__ import annotations

import uuid
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from codegen.chat.clients import with_protocol
from experiments.runs.options import names
from experiments.runs.options.config import RecordingReference, RunConfig
from experiments.runs.options.libraries import read_library
from experiments.runs.options.option_conflicts import (
    check_limits,
    check_model,
    check_prior,
    check_proposer,
)
from experiments.runs.options.request import RunRequest
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring.choosing import (
    GPU,
    LLM,
    REPLAY,
    check_constants,
    fitting_evaluator,
    resolve_memory,
    resolve_proposer,
    resolve_recording,
    resolve_settings,
)
from mcts.errors import InputError
from mcts.options import Algorithm, JudgingOptions, Limits, ModelOptions
from mcts.search.catalogue import searches
from mcts.search.puct_constants import PuctConstants

STOP_WITHIN = 0.1


def rooftree_version() -> str:
    try:
        return version("rooftree")
    except PackageNotFoundError:
        return "0+unknown"


def resolve(source: TaskSource, request: RunRequest, *, measures_now: bool = True) -> RunConfig:
    """A run's configuration with every `auto` decided and every name known to exist.

    Unless it `measures_now`, a GPU that is asked for need not be there yet.
    """
    proposer = _proposer(source, request)
    evaluator = _evaluator(source, request, now=measures_now)
    library = read_library(request.model.library) if request.model.library else None
    tape = resolve_recording(source, evaluator, request.judging.recording)
    search = request.search.model_copy(
        update={
            "proposer": proposer,
            "algorithm": _algorithm(request.search.algorithm, proposer),
            "memory": resolve_memory(evaluator, request.search.memory),
        }
    )
    config = RunConfig(
        rooftree=rooftree_version(),
        run_id=uuid.uuid4().hex,
        task=source.given,
        task_name=source.task.name,
        search=search,
        judging=request.judging.model_copy(update={"evaluator": evaluator}),
        limits=request.limits,
        model=with_protocol(request.model) if library is not None else request.model,
        recording=RecordingReference.of(tape) if tape else None,
        library=library,
    )
    resolve_settings(search.algorithm)
    check_constants(search.algorithm)
    _check_limits(config)
    return config


def stopping_early(config: RunConfig) -> RunConfig:
    """`config`, which ends near the least time of its traffic if it asks a model about variants
    that are measured, and no other share was given: on sixteen recorded problems that cost nothing
    of what was gained (`docs/model-studies.md`).
    """
    asks = config.search.proposer == LLM and config.judging.evaluator != REPLAY
    if not asks or config.limits.stop_within is not None:
        return config
    limits = config.limits.model_copy(update={"stop_within": STOP_WITHIN})
    return config.model_copy(update={"limits": limits})


def widened(
    config: RunConfig,
    *,
    limits: Limits | None = None,
    model: ModelOptions | None = None,
    judging: JudgingOptions | None = None,
) -> RunConfig:
    """`config` with what was given of `limits`, of `model` and of the devices of `judging` in place
    of its own.

    InputError for what would do nothing in this run.
    """
    if judging is not None:
        config = _moved(config, judging)
    if model is not None and model.given():
        asked = ModelOptions(**config.model.model_dump(exclude_defaults=True)).changed_by(model)
        check_model(config.search.proposer, asked)
        config = config.model_copy(update={"model": asked})
    if limits is not None:
        config = config.model_copy(update={"limits": config.limits.changed_by(limits)})
    _check_limits(config)
    return config


def _moved(config: RunConfig, judging: JudgingOptions) -> RunConfig:
    """`config` on the devices of `judging`, if some were given.

    InputError where the run is not told its GPU, or for both options at once.
    """
    given = judging.given()
    named = [name for name in ("device", "devices") if name in given]
    if not named:
        return config
    if config.judging.evaluator != GPU:
        raise InputError(
            f"--{named[0]} is for runs with evaluator gpu, and this one's is "
            f"{config.judging.evaluator}"
        )
    if len(named) > 1:
        raise InputError("--device and --devices exclude each other: give one of them")
    chosen = {"device": given.get("device", 0), "devices": given.get("devices")}
    moved = config.judging.model_copy(update=chosen)
    return config.model_copy(update={"judging": moved})


def _proposer(source: TaskSource, request: RunRequest) -> str:
    """The name of the proposer, which can do this task and heeds the options about a model."""
    proposer = resolve_proposer(request.search.proposer, model=request.model.name)
    check_proposer(source.task, proposer)
    check_prior(proposer, request.search.prior)
    check_model(proposer, request.model)
    return proposer


def _evaluator(source: TaskSource, request: RunRequest, *, now: bool) -> str:
    """The name of the evaluator, which heeds the options about measuring, with its argument."""
    evaluator = fitting_evaluator(source, request.judging, now=now)
    base, argument = names.split(evaluator)
    names.load(names.EVALUATORS, base)
    if argument and not _is_address(argument):  # a run may be resumed from another folder
        return f"{base}:{Path(argument).absolute()}"
    return evaluator


def _is_address(argument: str) -> bool:
    """Whether an evaluator's argument is a server's address, such as ``tcp://node1:8786``."""
    host, _, port = argument.rpartition(":")
    return bool(host) and port.isdecimal() and not Path(argument).exists()


def _algorithm(asked: Algorithm, proposer: str) -> Algorithm:
    """What was asked for. With a model a tree search's `expected_improvement` is off unless it was
    asked for: a model writes code, and has no space in which the run's times could point somewhere.
    """
    kind = searches().get(asked.name)
    if proposer != LLM or kind is None or not issubclass(kind, PuctConstants):
        return asked
    constants = {"expected_improvement": 0, **asked.constants}
    return asked.model_copy(update={"constants": constants})


def _check_limits(config: RunConfig) -> None:
    check_limits(
        config.limits,
        proposer=config.search.proposer,
        model=config.model,
        evaluator=config.judging.evaluator,
    )
