"""The gate refuses what cannot be judged, marks what a reader should know, and passes the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from tests.support.kernelbench_problems import (  # noqa: E402
    CANCELLED,
    CLAMPED_AWAY,
    LINEAR,
    LINEAR_INPUTS,
    function,
    linear_problem,
    write,
)
from tests.support.oracle_judge import Judge  # noqa: E402


def gate(path: Path) -> dict[str, Any]:
    return Judge(path).ask("gate")


def refusal(path: Path) -> str:
    (text,) = gate(path)["refusals"]
    return str(text)


def marks(path: Path) -> str:
    report = gate(path)
    assert report["refusals"] == []
    return "; ".join(report["marks"])


def test_a_fair_problem_passes_without_a_mark(tmp_path: Path) -> None:
    report = gate(linear_problem(tmp_path))
    assert report == {"refusals": [], "marks": [], "deterministic": True}


def test_a_maximum_less_its_own_mean_is_constant(tmp_path: Path) -> None:
    path = write(tmp_path, CANCELLED, inputs="[torch.rand(16, 32)]", init="[32]")
    assert "the output is constant" in refusal(path)


def test_a_clamp_that_catches_everything_is_constant_despite_its_dropout(tmp_path: Path) -> None:
    path = write(tmp_path, CLAMPED_AWAY, inputs="[torch.rand(2, 3, 6, 6, 6)]", init="[3]")
    assert "the output is constant" in refusal(path)


@pytest.mark.parametrize(
    ("result", "inputs", "said"),
    [
        ("nn.functional.dropout(x, 0.5)", "[torch.rand(9, 9)]", "random numbers drawn in forward"),
        ("x * 2", "[torch.arange(64.0)]", "same values under every seed"),
        ("torch.log(-1 - x)", "[torch.rand(16)]", "NaN or infinite everywhere"),
    ],
    ids=["dropout in training mode", "constant inputs", "no number in the output"],
)
def test_a_result_that_cannot_be_judged_is_refused(
    tmp_path: Path, result: str, inputs: str, said: str
) -> None:
    assert said in refusal(function(tmp_path, result, inputs=inputs))


def test_dropout_in_evaluation_mode_is_a_fair_problem(tmp_path: Path) -> None:
    model = """
def __init__(self):
    super().__init__()
    self.dropout = nn.Dropout(0.5)
    self.eval()

def forward(self, x):
    return self.dropout(x)
"""
    assert gate(write(tmp_path, model, inputs="[torch.rand(8, 8)]"))["refusals"] == []


def test_an_output_that_only_depends_on_weights_is_refused(tmp_path: Path) -> None:
    model = LINEAR.replace("torch.relu(self.linear(x))", "self.linear(0 * x)")
    path = write(tmp_path, model, inputs=LINEAR_INPUTS, init="[64]")
    assert "depends on no input" in refusal(path)


def test_a_model_that_keeps_state_between_calls_is_refused(tmp_path: Path) -> None:
    model = """
def __init__(self):
    super().__init__()
    self.register_buffer("total", torch.zeros(16))

def forward(self, x):
    self.total += x
    return self.total * 2
"""
    assert "keeps state between calls" in refusal(write(tmp_path, model, inputs="[torch.rand(16)]"))


def test_an_output_that_does_not_repeat_is_refused(tmp_path: Path) -> None:
    model = """
def forward(self, x):
    import os
    return x + int.from_bytes(os.urandom(3), 'big')
"""
    assert "two runs" in refusal(write(tmp_path, model, inputs="[torch.rand(16)]"))


def test_batch_statistics_are_no_state_that_matters(tmp_path: Path) -> None:
    model = """
def __init__(self):
    super().__init__()
    self.norm = nn.BatchNorm1d(8)

def forward(self, x):
    return self.norm(x)
"""
    report = gate(write(tmp_path, model, inputs="[torch.rand(32, 8)]"))
    assert report["refusals"] == []
    (mark,) = report["marks"]
    assert "norm.running_mean, norm.running_var" in mark and "no effect" in mark


def test_an_input_without_effect_is_marked(tmp_path: Path) -> None:
    path = function(
        tmp_path, "x + 0 * y", arguments="x, y", inputs="[torch.rand(64), torch.rand(64)]"
    )
    assert "input [1] has no effect" in marks(path)


def test_an_index_counts_as_an_input_that_matters(tmp_path: Path) -> None:
    path = function(
        tmp_path, "nn.functional.cross_entropy(x, y)", arguments="x, y",
        inputs="[torch.rand(64, 10), torch.randint(0, 10, (64,))]",
    )  # fmt: skip
    assert marks(path) == ""


def test_a_weight_without_effect_is_marked_by_name(tmp_path: Path) -> None:
    model = LINEAR.replace("self.linear = ", "self.idle = nn.Linear(2, 2)\n    self.linear = ")
    text = marks(write(tmp_path, model, inputs=LINEAR_INPUTS, init="[64]"))
    assert "idle.weight, idle.bias" in text


@pytest.mark.parametrize(
    ("result", "inputs", "said"),
    [
        ("torch.relu(x - 0.998)", "[torch.rand(40000)]", "of the output are zeros"),
        ("(x.float() * 3).exp()", "[torch.rand(64)]", "does not run in float64"),
        ("x.mul_(2) + 1", "[torch.rand(64)]", "changes its inputs in place"),
    ],
)
def test_a_result_that_a_reader_should_know_of_is_marked(
    tmp_path: Path, result: str, inputs: str, said: str
) -> None:
    assert said in marks(function(tmp_path, result, inputs=inputs))
