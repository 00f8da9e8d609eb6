"""Choices that do not go together: refused in one line, before anything is prepared."""

from __future__ import annotations

from pathlib import Path

from experiments.runs.options import names
from experiments.runs.options.asking import OPTION, Asking, check_asking
from experiments.runs.options.request import AUTO, Measuring
from mcts.domain import PYTORCH_DIALECTS, KernelTask, is_host_source
from mcts.errors import InputError

_WITHOUT_ARGUMENT = ("gpu", "replay")
ASKS_NO_MODEL = frozenset({"scripted", "uniform", "tpe"})
"""Ours that choose among values of tunables and write no code."""


def check_proposer(task: KernelTask, proposer: str) -> None:
    """InputError where the proposer cannot write candidates of the task's dialect."""
    begins_with_host = is_host_source(task.baseline.source)
    if task.dialect in PYTORCH_DIALECTS and proposer in ASKS_NO_MODEL and not begins_with_host:
        raise InputError(
            f"the {proposer} proposer writes no code for KernelBench problems: give --model NAME, "
            "--kernel FILE.cu to search its tunables, or judge candidates with rooftree evaluate"
        )


def check_model_options(proposer: str, asking: Asking, *, model: str | None) -> None:
    """InputError for an option about a language model that this proposer would not heed."""
    if proposer not in ASKS_NO_MODEL:
        check_asking(asking, model=model)
        return
    inert = next((OPTION[field] for field in OPTION if field in asking.model_fields_set), None)
    if inert:
        raise InputError(f"{inert} is for the llm proposer: give --model NAME with it")


def check_library(library: str | None, proposer: str, asking: Asking) -> None:
    """InputError for a library that nobody would look into, or options about one without it."""
    if library is not None and proposer in ASKS_NO_MODEL:
        raise InputError("--library is for the llm proposer: give --model NAME with it")
    given = (f for f in OPTION if f.startswith("lookup") and f in asking.model_fields_set)
    if library is None and (inert := next(given, None)):
        raise InputError(f"{OPTION[inert]} does nothing without --library")


def check_paid_caps(
    proposer: str, asking: Asking, *, max_cost_usd: float | None, max_tokens: int | None
) -> None:
    """InputError for a cap on what language models take where none is asked."""
    given = {"--max-cost": max_cost_usd, "--max-tokens": max_tokens}
    inert = next((option for option, cap in given.items() if cap is not None), None)
    if inert and proposer in ASKS_NO_MODEL:
        raise InputError(f"{inert} is for the llm proposer: give --model NAME with it")
    if inert and asking.replay is not None:
        raise InputError(f"{inert} does nothing with --llm-replay: nobody is asked")


def check_gpu_cap(evaluator: str, max_gpu_minutes: float | None) -> None:
    """InputError for a cap on GPU time where none passes."""
    if evaluator == "replay" and max_gpu_minutes is not None:
        raise InputError("--max-gpu-minutes is for live measurements: a replay takes no GPU time")


def check_evaluator(
    task: KernelTask,
    evaluator: str,
    measuring: Measuring,
    *,
    recording: Path | None = None,
    wait_minutes: float | None = None,
) -> None:
    """InputError where an option would change nothing about this evaluator.

    `auto` passes what one of its choices could use: ask again once it is decided.
    """
    base, argument = names.split(evaluator)
    if base in _WITHOUT_ARGUMENT and evaluator != base:
        raise InputError(f"evaluator {base} takes no argument: leave out {':' + argument!r}")
    if measuring.compiled and task.dialect not in PYTORCH_DIALECTS:
        raise InputError("--baseline compile is for KernelBench problems (.py) only")
    if measuring.includes and task.dialect not in PYTORCH_DIALECTS:
        raise InputError("--include is for KernelBench problems (.py), whose candidates may be .cu")
    if measuring.includes and base not in ("gpu", AUTO):
        raise InputError("--include is for --evaluator gpu: a worker is told its own folders")
    if base == "replay" and (inert := _live_only(measuring)):
        raise InputError(f"{inert} is for live measurements: a replay measures nothing")
    if recording is not None and base in ("gpu", "spool"):
        raise InputError(f"--recording is for evaluator replay, not {base}")
    if wait_minutes is not None and base in (*_WITHOUT_ARGUMENT, AUTO):
        raise InputError("--wait is for --evaluator spool:DIR")


def _live_only(measuring: Measuring) -> str | None:
    """The first option given that only a live evaluator heeds."""
    given = {
        "--baseline compile": measuring.compiled,
        "--ungated": measuring.ungated,
        "--unsafe": measuring.unsafe,
    }
    return next((option for option, is_given in given.items() if is_given), None)
