"""Device code with a launch plan: compiled by NVRTC, launched by us."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcts.errors import InputError
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from profilers.cuda.evaluator import GpuEvaluator
from profilers.cuda.settings import GpuSettings


def evaluator(request: EvaluatorRequest, *, readable: Sequence[Path]) -> Evaluator:
    """The judge of device code, which reads no files."""
    if request.judging.compiled:
        raise InputError("torch.compile is a baseline for KernelBench problems only")
    return GpuEvaluator(
        request.task,
        device=request.judging.device,
        settings=GpuSettings(ungated=request.judging.ungated),
        on_progress=request.on_progress,
    )
