"""Device code with a launch plan: compiled by NVRTC, launched by us."""

from __future__ import annotations

from mcts.domain import KernelTask
from mcts.errors import InputError
from mcts.ports import Evaluator
from profilers.cuda.evaluator import GpuEvaluator
from profilers.cuda.settings import GpuSettings
from profilers.dialects.options import JudgeOptions


def evaluator(task: KernelTask, options: JudgeOptions) -> Evaluator:
    """The judge of device code."""
    if options.compiled:
        raise InputError("torch.compile is a baseline for KernelBench problems only")
    return GpuEvaluator(
        task,
        device=options.device,
        settings=GpuSettings(ungated=options.ungated),
        on_progress=options.on_progress,
    )
