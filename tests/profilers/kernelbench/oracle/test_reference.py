"""The truth in double precision, whole or by parts, and a model that every run finds unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.oracle.model_state import to_tf32  # noqa: E402
from profilers.kernelbench.oracle.reference import ReferenceModel  # noqa: E402
from profilers.kernelbench.oracle.slicing import plan_batch  # noqa: E402
from profilers.kernelbench.shared.problem import ProblemFile  # noqa: E402
from profilers.kernelbench.shared.trees import mapped, tensors  # noqa: E402
from profilers.kernelbench.shared.weights import Weights, derives_buffers  # noqa: E402
from tests.support.kernelbench_problems import (  # noqa: E402
    LINEAR_INPUTS,
    function,
    linear_problem,
    write,
)


def reference(path: Path, *, room: int | None = None) -> tuple[ReferenceModel, list[Any]]:
    problem = ProblemFile(path, torch.device("cpu"))
    made = ReferenceModel(problem, problem.model(1), tf32=False, room=lambda: room)
    return made, problem.inputs(1)


def test_the_truth_is_computed_in_double_and_weights_come_back(tmp_path: Path) -> None:
    made, inputs = reference(linear_problem(tmp_path))
    before = made.model.linear.weight.detach().clone()
    found = made.expect(inputs)
    (leaf,) = found.leaves
    assert found.oracle == "float64"
    assert leaf.values.dtype == torch.float64
    assert 0 < leaf.honest.rms < 1e-6 * leaf.scale
    assert torch.equal(made.model.linear.weight, before)
    assert torch.get_default_dtype() == torch.float32


def test_by_parts_it_is_the_same_as_whole(tmp_path: Path) -> None:
    path = linear_problem(tmp_path)
    whole, inputs = reference(path)
    parts, _ = reference(path, room=20_000)
    expected, found = whole.expect(inputs), parts.expect(inputs)
    assert found.oracle == "float64"
    assert torch.allclose(found.leaves[0].values, expected.leaves[0].values, rtol=1e-12)


@pytest.mark.parametrize(
    ("result", "sliced"),
    [
        ("x.softmax(-1)", {"[0]"}),
        ("x + y", {"[0]", "[1]"}),
        ("x @ y", {"[0]"}),
        ("x / x.norm()", None),
        ("x - x.mean(0)", None),
        ("torch.triu(x @ y)", None),
        ("x.cumsum(0)", None),
        ("x.sum()", None),
        ("x.T @ y", None),
    ],
)
def test_only_independent_rows_are_computed_by_parts(
    tmp_path: Path, result: str, sliced: set[str] | None
) -> None:
    path = function(
        tmp_path, result, arguments="x, y", inputs="[torch.rand(12, 12), torch.rand(12, 12)]"
    )
    made, inputs = reference(path)

    def run(values: Any) -> Any:
        return made.run(mapped(values, lambda tensor: tensor.double()))

    found = plan_batch(run, inputs, made.run(inputs))
    if sliced is None:
        assert found is None
    else:
        assert found is not None and found.sliced is not None
        assert found.sliced >= sliced or found.sliced == {"[0]"}


def test_parts_become_smaller_when_memory_runs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, inputs = reference(linear_problem(tmp_path))
    expected = made.expect(inputs).leaves[0].values
    plain, rows = made._double, []

    def short_of_memory(values: list[Any]) -> Any:
        if len(values[0]) > 5:
            raise torch.OutOfMemoryError("no room")
        rows.append(len(values[0]))
        return plain(values)

    monkeypatch.setattr(made, "_double", short_of_memory)
    found = made.expect(inputs)
    assert found.oracle == "float64"
    assert torch.allclose(found.leaves[0].values, expected, rtol=1e-12)
    assert sum(rows) == 24 + 8, "all rows, and what was tried beforehand"


def test_the_oracle_is_float32_if_double_never_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, inputs = reference(linear_problem(tmp_path))

    def out_of_memory(values: list[Any]) -> Any:
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr(made, "_double", out_of_memory)
    found = made.expect(inputs)
    assert found.oracle == "float32"
    assert found.leaves[0].honest.rms > 0


def test_a_model_that_cannot_be_computed_in_parts_has_an_oracle(tmp_path: Path) -> None:
    path = function(tmp_path, "x / x.norm()", inputs="[torch.rand(12, 12)]")
    made, inputs = reference(path, room=10)
    assert made.expect(inputs).oracle == "float64"


def test_running_statistics_and_hidden_state_are_put_back(tmp_path: Path) -> None:
    model = """
def __init__(self):
    super().__init__()
    self.norm = nn.BatchNorm1d(6)
    self.hidden = torch.zeros(6)

def forward(self, x):
    self.hidden = self.hidden + self.norm(x).sum(0)
    return self.hidden
"""
    made, inputs = reference(write(tmp_path, model, inputs="[torch.rand(9, 6)]"))
    first, second = made.run(inputs), made.run(inputs)
    assert torch.equal(first, second)
    assert made.model.norm.num_batches_tracked == 0
    assert torch.equal(made.model.hidden, torch.zeros(6))


def test_an_output_that_is_the_models_own_memory_is_copied(tmp_path: Path) -> None:
    model = """
def __init__(self):
    super().__init__()
    self.register_buffer("state", torch.zeros(5))

def forward(self, x):
    self.state.copy_(x)
    return {"state": self.state, "x": (x, 3)}
"""
    made, inputs = reference(write(tmp_path, model, inputs="[torch.rand(5)]"))
    found = made.run(inputs)
    assert torch.equal(found["state"], inputs[0])
    addresses = {tensor.data_ptr() for _, tensor in tensors(found)}
    assert inputs[0].data_ptr() not in addresses


def test_constants_get_content_and_masks_are_left(tmp_path: Path) -> None:
    model = """
def __init__(self):
    super().__init__()
    self.norm = nn.BatchNorm1d(64)
    self.linear = nn.Linear(64, 64)
    nn.init.zeros_(self.linear.bias)
    self.scale = nn.Parameter(torch.ones(1))
    self.register_buffer("mask", torch.tril(torch.ones(64, 64)))
    self.register_buffer("noise", torch.randn(64))

def forward(self, x):
    return self.linear(self.norm(x)) * self.scale
"""
    problem = ProblemFile(write(tmp_path, model, inputs=LINEAR_INPUTS), torch.device("cpu"))
    made, other = problem.model(1), problem.model(2)
    assert derives_buffers(made)
    weights = Weights(made, other)
    matrix = made.linear.weight.detach().clone()
    weights.randomise(5)
    assert set(weights.derived) == {"mask", "norm.num_batches_tracked"}
    assert set(weights.named) == {
        "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
        "linear.weight", "linear.bias", "scale", "noise",
    }  # fmt: skip
    assert torch.equal(made.linear.weight, matrix)
    for name in ("norm.weight", "norm.bias", "linear.bias", "norm.running_mean"):
        assert float(weights.named[name].detach().std()) > 0.01
    assert float(made.scale) not in (0.0, 1.0)
    assert float(made.norm.running_var.min()) >= 0.5
    assert torch.equal(made.mask, other.mask)


def test_mutation_changes_every_weight_and_keeps_its_scale(tmp_path: Path) -> None:
    model = ProblemFile(linear_problem(tmp_path), torch.device("cpu")).model(1)
    weights = Weights(model)
    weights.randomise(1)
    before = model.linear.weight.detach().clone()
    version = model.linear.weight._version
    for seed in range(50):
        weights.mutate(seed)
    after = model.linear.weight.detach()
    assert model.linear.weight._version > version
    assert bool((after != before).all())
    assert float(after.square().mean()) == pytest.approx(float(before.square().mean()), rel=1e-3)


def test_tf32_keeps_ten_bits_and_rounds_ties_to_even() -> None:
    ulp = 2.0**-10
    values = torch.tensor([1.0, 1 + ulp, 1 + 0.5 * ulp, 1 + 1.5 * ulp, 1 + 0.6 * ulp, -3.25])
    wanted = torch.tensor([1.0, 1 + ulp, 1.0, 1 + 2 * ulp, 1 + ulp, -3.25])
    assert torch.equal(to_tf32(values), wanted)
    odd = torch.tensor([float("inf"), float("nan")])
    assert torch.equal(to_tf32(odd).isfinite(), torch.tensor([False, False]))
