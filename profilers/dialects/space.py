"""A recorded space without source: nothing that could be measured again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcts.errors import InputError
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest


def evaluator(request: EvaluatorRequest, *, readable: Sequence[Path]) -> Evaluator:
    """Raises InputError: there is no such evaluator."""
    raise InputError(
        f"task {request.task.name!r} is a recording without source: it can only be replayed"
    )
