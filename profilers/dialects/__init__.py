"""Who judges candidates on a GPU: a module for each dialect, under the dialect's name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest


def live_evaluator(request: EvaluatorRequest, *, readable: Sequence[Path] = ()) -> Evaluator:
    """An evaluator of the request's task on this machine's GPU.

    readable: folders that candidates may read, because they import from there. Raises InputError
    if the task cannot be measured or an option means nothing for it, WorldError if the GPU is taken
    or does not answer.
    """
    module = import_module(f"{__name__}.{request.task.dialect}")
    judge: Evaluator = module.evaluator(request, readable=readable)
    return judge
