"""An evaluator that measures by a formula of the tunables, live: no recording stands behind it."""

from __future__ import annotations

import threading
import time

import pytest

from experiments.runs.options import names
from experiments.runs.wiring import choosing, gpus
from mcts.domain import Candidate, Evaluation, Hardware, KernelTask, Metric, Profile
from mcts.domain.profile import KernelProfile
from mcts.errors import UnfitTask
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from tests.support.evaluations import measured

NAME = "formula-gpu"
GPU = "Formula GPU"
"""What it says that it measures on."""
FAILING: set[str] = set()
"""Ids of candidates whose result is wrong here."""
UNFIT: set[str] = set()
"""Names of tasks that cannot be judged here."""
OPENED: list[tuple[str, int]] = []
"""Tasks that it was made for, with the numbers of the GPUs."""


def install(patch: pytest.MonkeyPatch) -> list[str]:
    """Make the evaluator known; returns the list that the ids of what it measures go to."""
    asked: list[str] = []
    FAILING.clear()
    UNFIT.clear()
    OPENED.clear()
    lock = threading.Lock()

    class FormulaGpu(Evaluator):
        name = NAME

        def __init__(self, task: KernelTask) -> None:
            self.task = task

        @property
        def hardware(self) -> Hardware:
            return Hardware(name=GPU)

        def evaluate(self, candidate: Candidate) -> Evaluation:
            with lock:
                asked.append(candidate.id)
            if candidate.id in FAILING:
                message = "an illegal access"
                return Evaluation(
                    candidate_id=candidate.id, status="runtime_error", message=message
                )
            return measured(_speed(candidate, self.task), name=candidate.id)

        def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
            metrics = {"gpu__time_duration.sum": Metric(value=1e5, unit="ns")}
            return Profile(kernels=(KernelProfile(name="toy", metrics=metrics),))

        def close(self) -> None:
            """Nothing is held."""

    def make(request: EvaluatorRequest) -> FormulaGpu:
        OPENED.append((request.task.name, request.judging.device))
        if request.task.name in UNFIT:
            raise UnfitTask(f"{request.task.name} is too large for the Formula GPU")
        if len(gpus.gpu_names()) > 1:
            time.sleep(0.3)  # so that another GPU takes the next task
        return FormulaGpu(request.task)

    patch.setitem(names.OURS, names.EVALUATORS, dict(names.OURS[names.EVALUATORS]))
    patch.setattr(f"{__name__}.formula_gpu", make, raising=False)
    names.OURS[names.EVALUATORS][NAME] = f"{__name__}:formula_gpu"
    return asked


def install_gpus(patch: pytest.MonkeyPatch, count: int) -> None:
    """Have so many GPUs, on which `gpu` measures by the formula. To be called after `install`."""
    names.OURS[names.EVALUATORS]["gpu"] = f"{__name__}:formula_gpu"
    patch.setattr(choosing, "gpu_problem", lambda device=0, *, torch=False: None)
    patch.setattr(gpus, "gpu_names", lambda: (GPU,) * count)


def _speed(candidate: Candidate, task: KernelTask) -> float:
    if candidate.id == task.baseline.id:
        return 1.0
    digits = int(candidate.id.rpartition("-")[2][:6], 16)
    return 1.2 + digits % 1000 / 500
