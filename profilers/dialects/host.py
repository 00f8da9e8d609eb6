"""A `.cu` with a launcher, or PyTorch, in answer to a KernelBench problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcts.domain import KernelTask
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from profilers.host.evaluator import HostEvaluator
from profilers.host.settings import HostSettings
from profilers.host.several_shapes import SeveralShapesEvaluator
from profilers.kernelbench.judge.building import Builds
from profilers.kernelbench.judge.settings import KernelBenchSettings


def evaluator(request: EvaluatorRequest, *, readable: Sequence[Path]) -> Evaluator:
    """The judge of problems, which takes candidates of both dialects."""
    judging = request.judging
    host = HostSettings(includes=judging.includes)
    if judging.verdict_within is not None:
        host = replace(host, deadline_s=min(host.deadline_s, judging.verdict_within))
    settings = KernelBenchSettings(
        verdict_within_s=judging.verdict_within,
        compiled=judging.compiled,
        ungated=judging.ungated,
        unsafe=judging.unsafe,
        readable=(*readable, *judging.includes),
        includes=judging.includes,
    )

    built: Builds = {}

    def judge(task: KernelTask, settings: KernelBenchSettings) -> HostEvaluator:
        return HostEvaluator(
            task,
            host=host,
            device=judging.device,
            settings=settings,
            on_progress=request.on_progress,
            built=built,
        )

    if len(request.task.workloads) > 1:
        return SeveralShapesEvaluator(request.task, judge, settings=settings)
    return judge(request.task, settings)
