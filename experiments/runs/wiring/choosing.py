"""The parts of a run by name: every `auto` decided, every name known, none that cannot be used."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

from codegen.chat.clients import NO_MODEL
from experiments.runs.machines.machine import gpu_problem
from experiments.runs.memory.database import check_folder, default_path
from experiments.runs.options import names
from experiments.runs.options.option_conflicts import ASKS_NO_MODEL, check_evaluator
from experiments.runs.tasks.files import TaskSource
from experiments.text.words import did_you_mean
from mcts.errors import InputError
from mcts.loop.reward import RewardSettings
from mcts.options import OFF, Algorithm, JudgingOptions
from mcts.options.option import AUTO
from mcts.search.port import SearchSettings

REPLAY, GPU, CLUSTER = "replay", "gpu", "dask"
SCRIPTED, LLM = "scripted", "llm"


def resolve_evaluator(
    source: TaskSource, wanted: str, recording: Path | None, *, device: int = 0
) -> str:
    """`auto` becomes gpu where a GPU can be used, else replay where there is a recording.

    Raises InputError with what stands in the way of both.
    """
    torch = source.task.dialect.in_pytorch
    if wanted == GPU and (problem := gpu_problem(device, torch=torch)):
        raise InputError(f"--evaluator gpu cannot be used here: {problem}")
    if wanted != AUTO:
        return wanted
    if recording is not None or not source.task.dialect.has_source:
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
        f"replay: give one with --recording FILE (`rooftree check {source.given}` looks at the "
        "task without a GPU)"
    )


def fitting_evaluator(source: TaskSource, judging: JudgingOptions, *, now: bool = True) -> str:
    """`resolve_evaluator`, for options of which none would do nothing. InputError for one.

    Unless it is needed `now`, whether there is a GPU is left to whoever opens the evaluator.
    """
    check_evaluator(source.task, judging)
    if judging.evaluator == GPU and not now:
        return GPU
    name = resolve_evaluator(source, judging.evaluator, judging.recording, device=judging.device)
    check_evaluator(source.task, judging.model_copy(update={"evaluator": name}))
    return name


def resolve_recording(source: TaskSource, evaluator: str, recording: Path | None) -> Path | None:
    """The recording to replay: the one given, else the task's last by name. The workers of a
    cluster replay one only if it was given."""
    if names.split(evaluator)[0] == CLUSTER:
        return recording
    if evaluator != REPLAY:
        return None
    if recording is not None:
        return recording
    return source.recordings[-1] if source.recordings else None


def resolve_proposer(wanted: str, *, model: str | None) -> str:
    """`auto` becomes llm where a model is named, else scripted."""
    chosen = wanted if wanted != AUTO else LLM if model is not None else SCRIPTED
    names.load(names.PROPOSERS, chosen)
    if chosen == LLM and model is None:
        raise InputError(NO_MODEL)
    if chosen in ASKS_NO_MODEL and model is not None:
        raise InputError(f"--model is for the llm proposer: leave out --proposer {chosen}")
    return chosen


def resolve_settings(algorithm: Algorithm) -> tuple[SearchSettings, RewardSettings]:
    """The constants of a search and of its reward, as far as they are named.

    InputError for a bad one.
    """
    factory = names.load(names.SEARCHES, algorithm.name)
    own = inspect.signature(factory).parameters
    rewards = {field.name for field in fields(RewardSettings)} - set(own)
    if unknown := sorted(set(algorithm.constants) - set(own) - rewards):
        known = [*own, *sorted(rewards)]
        hint = did_you_mean(unknown[0], known, behind=" It has ") or "it has "
        raise InputError(
            f"search {algorithm.name} has no setting {unknown[0]!r}: {hint}{', '.join(known)}"
        )
    constants = algorithm.constants.items()
    of_search = {name: value for name, value in constants if name not in rewards}
    of_reward: dict[str, Any] = {name: value for name, value in constants if name in rewards}
    try:
        settings: SearchSettings = factory(**of_search)
    except (TypeError, ValueError) as error:
        raise InputError(f"search setting: {error}") from None
    return settings, RewardSettings(**of_reward)


def check_constants(algorithm: Algorithm) -> None:
    """InputError for a constant of a search or a reward that is of the wrong type, as a count of
    2.5.

    It is for what is new: runs of earlier versions go on with the constants that they began with.
    """
    factory = names.load(names.SEARCHES, algorithm.name)
    known = {
        **inspect.signature(RewardSettings).parameters,
        **inspect.signature(factory).parameters,
    }
    for name, value in algorithm.constants.items():
        kind = known[name].annotation if name in known else None
        whole = isinstance(value, int)
        if kind in ("int", int) and not whole:
            raise InputError(f"search setting: {name} is a whole number, not {value}")
        if kind in ("bool", bool) and not (whole and value in (0, 1)):
            raise InputError(f"search setting: {name} is 0 or 1, not {value}")


def resolve_memory(evaluator: str, wanted: Path | None) -> Path:
    """The memory a run learns from and teaches: the one given, also if that is ``off``, else the
    user's for live measurements.

    A replay uses none unless told to: played a hundred times, one recording would drown what was
    measured, and what a memory says would change what the same seed finds.
    MemoryUnavailable if the folder of the one given does not exist.
    """
    if wanted is None:
        return Path(OFF) if evaluator == REPLAY else default_path()
    if str(wanted) == OFF:
        return wanted
    check_folder(wanted.absolute())
    return wanted.absolute()
