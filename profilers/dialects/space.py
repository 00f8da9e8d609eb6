"""A recorded space without source: nothing that could be measured again."""

from __future__ import annotations

from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.ports import Evaluator
from profilers.dialects.options import JudgeOptions


def evaluator(task: KernelTask, options: JudgeOptions) -> Evaluator:
    """None: raises InputError."""
    raise InputError(f"task {task.name!r} is a recording without source: it can only be replayed")
