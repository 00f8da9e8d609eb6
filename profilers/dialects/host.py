"""A `.cu` with a launcher, or PyTorch, in answer to a KernelBench problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from profilers.host.evaluator import HostEvaluator
from profilers.host.settings import HostSettings
from profilers.kernelbench.judge.settings import KernelBenchSettings


def evaluator(request: EvaluatorRequest, *, readable: Sequence[Path]) -> Evaluator:
    """The judge of problems, which takes candidates of both dialects."""
    judging = request.judging
    return HostEvaluator(
        request.task,
        host=HostSettings(includes=judging.includes),
        device=judging.device,
        settings=KernelBenchSettings(
            compiled=judging.compiled,
            ungated=judging.ungated,
            unsafe=judging.unsafe,
            readable=tuple(readable),
        ),
        on_progress=request.on_progress,
    )
