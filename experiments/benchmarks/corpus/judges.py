"""The evaluators that judge the corpus: the product's own, with shorter deadlines.

A case takes milliseconds where it ends at all; what hangs is told after seconds, so that a run
over hundreds of them ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.benchmarks.corpus.running import Factory
from mcts.domain import KernelTask, Policy
from mcts.ports import Evaluator


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds for a call, a load with its first call, a build, and for a verdict in all."""

    call_s: float = 6.0
    load_s: float = 20.0
    build_s: float = 40.0
    verdict_s: float = 90.0


LONG_BUILDS = Deadlines(build_s=600.0, verdict_s=180.0)
"""Leaves time for nvcc, with which some candidates compile."""
DEFAULT = Deadlines()
SHORT = Deadlines(call_s=2.0, load_s=4.0, build_s=5.0, verdict_s=30.0)
"""For hundreds of candidates of which a third hangs."""


def gpu_judges(*, device: int, deadlines: Deadlines, say: Callable[[str], None]) -> Factory:
    """Evaluators of tasks of either dialect on a GPU."""

    def judge(task: KernelTask, policy: Policy) -> Evaluator:
        task = task.model_copy(update={"policy": policy})
        if task.dialect.in_pytorch:
            return _torch_judge(task, device=device, deadlines=deadlines, say=say)
        from profilers.cuda.evaluator import GpuEvaluator
        from profilers.cuda.settings import GpuSettings

        settings = GpuSettings(
            verify_deadline_s=deadlines.call_s, compile_deadline_s=min(40.0, deadlines.build_s)
        )
        return GpuEvaluator(task, device=device, settings=settings, on_progress=say)

    return judge


def _torch_judge(
    task: KernelTask, *, device: int, deadlines: Deadlines, say: Callable[[str], None]
) -> Evaluator:
    import codegen
    from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
    from profilers.kernelbench.judge.settings import KernelBenchSettings

    settings = KernelBenchSettings(
        call_deadline_s=deadlines.call_s,
        load_deadline_s=deadlines.load_s,
        build_deadline_s=deadlines.build_s,
        verdict_within_s=deadlines.verdict_s,
        readable=tuple(map(Path, codegen.__path__)),
    )
    return KernelBenchEvaluator(task, device=device, settings=settings, on_progress=say)
