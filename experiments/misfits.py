"""Choices that do not go together: refused in one line, before anything is prepared."""

from __future__ import annotations

from pathlib import Path

from experiments import names
from experiments.request import AUTO, Measuring
from mcts.domain import KernelTask
from mcts.errors import InputError

_WITHOUT_ARGUMENT = ("gpu", "replay")
_WRITES_NO_PYTORCH = ("scripted", "llm")


def check_proposer(task: KernelTask, proposer: str) -> None:
    """InputError where the proposer cannot write candidates of the task's dialect."""
    if task.dialect == "kernelbench" and proposer in _WRITES_NO_PYTORCH:
        raise InputError(
            "no bundled proposer writes PyTorch candidates yet: judge them with rooftree evaluate"
        )


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
    if measuring.compiled and task.dialect != "kernelbench":
        raise InputError("--baseline compile is for KernelBench problems (.py) only")
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
