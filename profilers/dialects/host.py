"""A `.cu` with a launcher, or PyTorch, in answer to a KernelBench problem."""

from __future__ import annotations

from mcts.domain import KernelTask
from mcts.ports import Evaluator
from profilers.dialects.options import JudgeOptions
from profilers.host.evaluator import HostEvaluator
from profilers.host.settings import HostSettings
from profilers.kernelbench.judge.settings import KernelBenchSettings


def evaluator(task: KernelTask, options: JudgeOptions) -> Evaluator:
    """The judge of problems, which takes candidates of both dialects."""
    return HostEvaluator(
        task,
        host=HostSettings(includes=options.includes),
        device=options.device,
        settings=KernelBenchSettings(
            compiled=options.compiled,
            ungated=options.ungated,
            unsafe=options.unsafe,
            readable=options.readable,
        ),
        on_progress=options.on_progress,
    )
