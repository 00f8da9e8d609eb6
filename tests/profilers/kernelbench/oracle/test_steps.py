"""The operations of a model: what counts as one, what it moves and does, what it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from mcts.domain import ModelStep  # noqa: E402
from profilers.kernelbench.oracle.reference import ReferenceModel  # noqa: E402
from profilers.kernelbench.oracle.steps import steps_of  # noqa: E402
from profilers.kernelbench.shared.problem import ProblemFile  # noqa: E402
from tests.support.kernelbench_problems import function  # noqa: E402


def steps(module: Any, *inputs: Any) -> list[ModelStep]:
    return [ModelStep.model_validate(found) for found in steps_of(lambda: module(*inputs))]


def test_each_operation_with_what_it_moves_and_does() -> None:
    linear = torch.nn.Linear(8, 16)
    found = steps(lambda x: (linear(x) * 0.5).sum(dim=1, keepdim=True), torch.randn(4, 8))
    assert [step.name for step in found] == ["addmm", "mul", "sum"]
    product, scaled, summed = found
    assert product.flops == 2 * 4 * 8 * 16 and scaled.flops == 0
    assert product.bytes == 4 * (4 * 8 + 8 * 16 + 16 + 4 * 16)
    assert (product.output, summed.output, summed.detail) == ("4x16", "4x1", "dim [1]")
    assert [step.after for step in found] == [(), (0,), (1,)]


def test_views_are_no_steps_and_hand_on_what_they_show() -> None:
    found = steps(lambda x: torch.relu(x * 2).view(8, 4).t().exp_(), torch.randn(4, 8))
    assert [step.name for step in found] == ["mul", "relu", "exp"]
    assert [step.after for step in found] == [(), (0,), (1,)]


def test_a_convolution_has_its_geometry() -> None:
    up = torch.nn.ConvTranspose2d(3, 5, 3, stride=2, padding=1)
    (found,) = steps(up, torch.randn(2, 3, 8, 8))
    assert found.detail == "weight 3x5x3x3, stride 2x2, padding 1x1, dilation 1x1, transposed"
    assert found.flops > 0 and found.elements == 2 * 5 * 15 * 15


def test_a_step_of_several_inputs_comes_from_all_of_them() -> None:
    found = steps(lambda x: torch.tanh(x) @ torch.exp(x).t(), torch.randn(4, 8))
    assert found[-1].name == "mm" and found[-1].after == (0, 1)


def test_an_endless_model_is_told_by_its_first_steps() -> None:
    def endless(x: Any) -> Any:
        for _ in range(100):
            x = x + 1
        return x

    assert len(steps(endless, torch.randn(4))) == 64


def test_what_is_read_twice_and_what_divides_is_told() -> None:
    squared = steps(lambda x: (lambda y: y * y)(torch.exp(x)).sum(), torch.randn(4))
    assert [step.name for step in squared] == ["exp", "mul", "sum"] and squared[1].after == (0, 0)
    assert [step.name for step in steps(lambda x: 1.0 / x.exp() / 2.0, torch.randn(4))][-1] == "div"
    weights = torch.randn(4)
    found = steps(lambda x: weights / torch.exp(x), torch.randn(4))
    assert [step.name for step in found] == ["exp", "rdiv"]


def test_a_reader_that_makes_integers_counts() -> None:
    found = steps(lambda x: torch.argmax(torch.exp(x), dim=1), torch.randn(4, 8))
    assert [step.name for step in found] == ["exp", "argmax"]


def test_what_the_oracle_does_around_a_model_is_none_of_its_steps(tmp_path: Path) -> None:
    """Running statistics are kept and put back, outputs copied."""
    path = function(tmp_path, "torch.nn.functional.relu(x)", inputs="[torch.rand(2, 3, 4, 4)]")
    problem = ProblemFile(path, torch.device("cpu"))
    norm = torch.nn.BatchNorm2d(3)
    reference = ReferenceModel(problem, norm, tf32=False, room=lambda: None)
    before = norm.running_mean.clone()
    found = reference.steps([torch.rand(2, 3, 4, 4)])
    assert [step["name"] for step in found] == ["native_batch_norm"]
    assert torch.equal(norm.running_mean, before)
