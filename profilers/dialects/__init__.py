"""Who judges candidates on a GPU: a module for each dialect, under the dialect's name."""

from __future__ import annotations

from importlib import import_module

from mcts.domain import KernelTask
from mcts.ports import Evaluator
from profilers.dialects.options import JudgeOptions

__all__ = ["JudgeOptions", "live_evaluator"]


def live_evaluator(task: KernelTask, options: JudgeOptions) -> Evaluator:
    """An evaluator of `task` on this machine's GPU.

    InputError if the task cannot be measured or an option means nothing for it, WorldError if the
    GPU is taken or does not answer.
    """
    judge: Evaluator = import_module(f"{__name__}.{task.dialect}").evaluator(task, options)
    return judge
