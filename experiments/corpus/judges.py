"""The judges that the corpus is put before: the product's own, with less patience.

An exhibit takes milliseconds where it ends at all; what hangs is told after seconds, so that a run
over hundreds of them ends.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.corpus.study import Factory
from mcts.domain import KernelTask, Policy
from mcts.ports import Evaluator

_CALL_S = 6.0
_LOAD_S = 20.0
_BUILD_S = 40.0
_SLOW_BUILD_S = 600.0


def gpu_judges(*, device: int, slow: bool, say: Callable[[str], None]) -> Factory:
    """Evaluators of tasks of either dialect on a GPU; `slow` leaves time for nvcc."""

    def judge(task: KernelTask, policy: Policy) -> Evaluator:
        task = task.model_copy(update={"policy": policy})
        if task.dialect == "kernelbench":
            return _torch_judge(task, device=device, slow=slow, say=say)
        from profilers.gpu import GpuEvaluator
        from profilers.settings import GpuSettings

        settings = GpuSettings(verify_deadline_s=_CALL_S, compile_deadline_s=_BUILD_S)
        return GpuEvaluator(task, device=device, settings=settings, on_progress=say)

    return judge


def _torch_judge(
    task: KernelTask, *, device: int, slow: bool, say: Callable[[str], None]
) -> Evaluator:
    import codegen
    from profilers.kernelbench.evaluator import KernelBenchEvaluator
    from profilers.kernelbench.settings import KernelBenchSettings

    settings = KernelBenchSettings(
        call_deadline_s=_CALL_S,
        load_deadline_s=_LOAD_S,
        build_deadline_s=_SLOW_BUILD_S if slow else _BUILD_S,
        readable=tuple(map(Path, codegen.__path__)),
    )
    return KernelBenchEvaluator(task, device=device, settings=settings, on_progress=say)
