"""The parts of a run by name: every `auto` decided, every name known, none that cannot be used."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path

from experiments.runs.machines.machine import gpu_problem
from experiments.runs.memory.tools import default_path
from experiments.runs.options import names
from experiments.runs.options.conflicts import ASKS_NO_MODEL, check_evaluator
from experiments.runs.options.request import AUTO, OFF, Measuring
from experiments.runs.tasks.files import TaskSource
from experiments.runs.wiring.parts import NO_MODEL
from mcts.domain import PYTORCH_DIALECTS
from mcts.domain.objective import OBJECTIVES, Objective
from mcts.errors import InputError
from mcts.search import AnySettings

REPLAY, GPU = "replay", "gpu"
SCRIPTED, LLM = "scripted", "llm"


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


def resolve_objective(wanted: str) -> Objective:
    """The objective of this name. InputError where there is none."""
    for objective in OBJECTIVES:
        if wanted == objective:
            return objective
    raise InputError(f"unknown objective {wanted!r}: {', '.join(OBJECTIVES)}")
