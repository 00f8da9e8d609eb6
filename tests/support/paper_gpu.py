"""An evaluator without a GPU for the kernels of the story: a real compiler, times by a formula."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from experiments.runs.options import names
from mcts.domain import (
    Build,
    Candidate,
    Evaluation,
    Hardware,
    KernelTask,
    Profile,
    Timing,
    Verification,
)
from mcts.ports import Evaluator
from mcts.requests import EvaluatorRequest
from profilers.compiling.building import Failed, build
from profilers.compiling.compiler import Compiler

WRONG = "output y on workload main, element [17, 40]: 0.0312 where 0.00024 is expected"
FLAW = "    return parts[0];"
"""What the story's wrong kernel holds, and no other."""


def install(patch: pytest.MonkeyPatch) -> None:
    """Make the evaluator `paper-gpu` known."""
    table = {**names.OURS[names.EVALUATORS], "paper-gpu": f"{__name__}:paper_gpu"}
    patch.setitem(names.OURS, names.EVALUATORS, table)


def paper_gpu(request: EvaluatorRequest) -> PaperGpu:
    return PaperGpu(request.task)


class PaperGpu(Evaluator):
    """Compiles as the GPU's evaluator does, in the same jail; runs nothing."""

    name = "paper-gpu"
    hardware = Hardware(name="Paper GPU")

    def __init__(self, task: KernelTask) -> None:
        self.task = task
        self._cache = tempfile.TemporaryDirectory(prefix="rooftree-paper-")
        self._compiler = Compiler(arch="sm_90a", cache_dir=Path(self._cache.name), processes=1)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        try:
            built = build(self.task, self._compiler, candidate)
        except Failed as failed:
            return Evaluation(
                candidate_id=candidate.id,
                status=failed.status,
                message=str(failed),
                build=failed.build or Build(),
            )
        if FLAW in candidate.source:
            return Evaluation(
                candidate_id=candidate.id,
                status="wrong_result",
                message=WRONG,
                build=built.build(),
                verification=Verification(passed=False, rounds=1, max_error=0.031, detail=WRONG),
            )
        is_baseline = candidate.id == self.task.baseline.id
        speed = 1.0 if is_baseline else 2 + len(candidate.source) % 97 / 97
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            build=built.build(),
            verification=Verification(passed=True, rounds=3),
            timing=_timing(1800.0 / speed, speed),
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"everything": "paper has no counters"})

    def close(self) -> None:
        self._compiler.close()
        self._cache.cleanup()


def _timing(time_us: float, speedup: float) -> Timing:
    return Timing(
        median_us=time_us,
        low_us=time_us * 0.99,
        high_us=time_us * 1.01,
        baseline_us=time_us * speedup,
        speedup=speedup,
        speedup_low=speedup * 0.98,
        speedup_high=speedup * 1.02,
        rounds=20,
    )
