"""On a real GPU: right, wrong, faulting, endless and greedy candidates, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcts.domain import Candidate, KernelTask
from mcts.errors import InputError
from profilers.gpu import GpuEvaluator, GpuSettings
from tests.contracts.evaluator_contract import EvaluatorContract

pytestmark = pytest.mark.gpu


@pytest.fixture
def evaluator(scale_task: KernelTask, tmp_path: Path) -> Iterator[GpuEvaluator]:
    settings = GpuSettings(verify_deadline_s=3)
    evaluator = GpuEvaluator(scale_task, cache_dir=tmp_path, settings=settings)
    yield evaluator
    evaluator.close()


class TestContract(EvaluatorContract):
    @pytest.fixture
    def evaluator(self, evaluator: GpuEvaluator) -> GpuEvaluator:
        return evaluator

    @pytest.fixture
    def working(self, make: Callable[..., Candidate]) -> Candidate:
        return make()

    @pytest.fixture
    def failing(self, make: Callable[..., Candidate]) -> dict[str, Candidate]:
        return {
            "compile_failed": make("y[i] = nosuch;"),
            "wrong_result": make("y[i] = 3.0f * x[i];"),
            "runtime_error": make("y[i + (1ll << 40)] = x[i];"),
        }


def test_candidates_are_judged_and_none_ends_the_run(
    evaluator: GpuEvaluator, make: Callable[..., Candidate]
) -> None:
    good = make()
    first = evaluator.evaluate(good)
    assert first.measured and first.timing is not None and first.build is not None
    assert first.verification is not None and first.verification.rounds == 4
    assert first.build.registers["scale"] > 0
    wrong = evaluator.evaluate(make("y[i] = 2.0f * x[i] + (i % 7 == 5);"))
    assert wrong.status == "wrong_result" and "first at [5]" in wrong.message
    unwritten = evaluator.evaluate(make("if (i != 3) y[i] = 2.0f * x[i];"))
    assert unwritten.status == "wrong_result" and "1 NaN" in unwritten.message
    fault = evaluator.evaluate(make("y[i + (1ll << 40)] = x[i];"))
    assert fault.status == "runtime_error" and "CUDA_ERROR" in fault.message
    assert evaluator.evaluate(good).measured
    endless = evaluator.evaluate(make("while (*(volatile const float*)x != 1e30f); y[i] = 0;"))
    assert endless.status == "timed_out"
    assert evaluator.evaluate(good).measured
    greedy = evaluator.evaluate(make(shared="1000000"))
    assert greedy.status == "runtime_error" and "1000000" in greedy.message
    assert evaluator.evaluate(make("y[i] = nosuch;")).status == "compile_failed"
    stray = evaluator.evaluate(make("y[i] = 2.0f * x[i]; ((float*)x)[i] = 0;"))
    assert stray.status == "wrong_result" and "was changed" in stray.message
    assert evaluator.evaluate(good).measured


def test_hardware_carries_measured_ceilings(evaluator: GpuEvaluator) -> None:
    ceilings = evaluator.hardware.ceilings
    assert ceilings is not None and ceilings.copy_gb_per_s > 10


def test_a_profile_names_what_it_lacks(
    evaluator: GpuEvaluator, make: Callable[..., Candidate]
) -> None:
    candidate = make()
    profile = evaluator.profile(candidate, evaluator.evaluate(candidate))
    assert [kernel.name for kernel in profile.kernels] == ["scale"]
    assert profile.kernels[0].metrics or "ncu" in profile.missing


def test_a_wrong_baseline_is_the_users_to_mend(
    scale_task: KernelTask, make: Callable[..., Candidate], tmp_path: Path
) -> None:
    task = scale_task.model_copy(update={"baseline": make("y[i] = 3.0f * x[i];")})
    with pytest.raises(InputError, match="baseline"):
        GpuEvaluator(task, cache_dir=tmp_path)
