"""Draws repeat under a seed; their variations change what they say they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.oracle.draws import (  # noqa: E402
    Draw,
    InputSource,
    VariationUnavailable,
    is_centred,
    is_uniform,
)
from profilers.kernelbench.oracle.reference import ReferenceModel  # noqa: E402
from profilers.kernelbench.shared.problem import ProblemFault, ProblemFile  # noqa: E402
from tests.support.kernelbench_problems import LINEAR, function, write  # noqa: E402


def source(path: Path) -> InputSource:
    problem = ProblemFile(path, torch.device("cpu"))
    reference = ReferenceModel(problem, problem.model(1), tf32=False, room=lambda: None)
    return InputSource(problem, reference, problem.inputs(1))


def draw(path: Path, variation: str, seed: int = 5) -> Draw:
    return source(path).draw(seed, variation)


def test_a_scaled_draw_is_the_given_one_times_a_factor(tmp_path: Path) -> None:
    path = function(
        tmp_path, "x * s + i", arguments="x, s, i",
        inputs="[torch.rand(100), 3.0, torch.randint(0, 9, (100,))]",
    )  # fmt: skip
    made = source(path)
    factors = set()
    for seed in range(5, 20):
        given, scaled = made.draw(seed, "given").inputs, made.draw(seed, "scaled").inputs
        factor = scaled[1] / 3.0
        factors.add(factor)
        assert torch.allclose(scaled[0], given[0] * factor)
        assert torch.equal(scaled[2], given[2])
    assert factors == {0.25, 4.0}


def test_uniform_inputs_become_normal_and_others_stay(tmp_path: Path) -> None:
    path = function(
        tmp_path, "x + n", arguments="x, n", inputs="[torch.rand(5000), torch.randn(5000)]"
    )
    given, signed = draw(path, "given").inputs, draw(path, "signed").inputs
    assert abs(float(signed[0].mean())) < 0.03
    assert float(signed[0].std()) == pytest.approx(float(given[0].std()), rel=0.1)
    assert bool((signed[0] < 0).any())
    assert torch.equal(signed[1], given[1])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("torch.rand(4096)", True),
        ("torch.randn(4096)", False),
        ("torch.rand(4096) * 4", False),
        ("torch.rand(64, 64).triu()", False),
        ("(torch.rand(64, 64) + torch.rand(64, 64)) / 2", False),
        ("torch.rand(4096).softmax(0)", False),
        ("torch.randint(0, 2, (4096,)).float()", False),
        ("torch.randint(0, 2, (4096,))", False),
        ("torch.rand(8)", False),
    ],
)
def test_uniform_inputs_are_recognized_by_their_values(made: str, expected: bool) -> None:
    torch.manual_seed(1)
    assert is_uniform(eval(made)) is expected


def test_a_hidden_batch_is_smaller_and_often_odd(tmp_path: Path) -> None:
    path = function(
        tmp_path, "x * y", arguments="x, y", inputs="[torch.rand(40, 3), torch.rand(40, 1)]"
    )
    made = source(path)
    rows = {int(made.draw(seed, "batch").inputs[0].shape[0]) for seed in range(20)}
    assert len(rows) > 3
    assert all(19 <= one < 40 and one % 2 == 1 for one in rows)


@pytest.mark.parametrize("rows", [9, 5])
def test_only_the_rows_of_the_first_matrix_vary(tmp_path: Path, rows: int) -> None:
    inputs = f"[torch.rand({rows}, 5), torch.rand(5, 5)]"
    x, y = draw(function(tmp_path, "x @ y", arguments="x, y", inputs=inputs), "batch").inputs
    assert x.shape[0] < rows
    assert y.shape == (5, 5)


@pytest.mark.parametrize(
    ("result", "inputs", "variation", "reason"),
    [
        ("torch.log(x)", "[torch.rand(100) + 0.1]", "signed", "no input is uniform"),
        ("torch.log(x) + 1", "[torch.rand(5000)]", "signed", "not finite"),
        ("x.view(8, 8)", "[torch.rand(64, 1)]", "batch", "does not take it: forward fails"),
        ("x + 1", "[torch.rand(1, 64)]", "batch", "no rows"),
        ("x + 1", "[torch.randint(0, 5, (64,))]", "scaled", "no input is a tensor of floats"),
        ("x + 1", "[torch.rand(64)]", "sideways", "no variation 'sideways'"),
    ],
)
def test_a_variation_that_does_not_apply_says_why(
    tmp_path: Path, result: str, inputs: str, variation: str, reason: str
) -> None:
    with pytest.raises(VariationUnavailable, match=reason):
        draw(function(tmp_path, result, inputs=inputs), variation)


def test_shapes_are_checked_at_every_draw(tmp_path: Path) -> None:
    path = write(
        tmp_path, LINEAR, init="[4]", inputs="[torch.rand(int(torch.randint(1, 999, ())), 4)]"
    )
    with pytest.raises(ProblemFault, match="other shapes from one call to the next"):
        draw(path, "given", seed=9)


def test_inputs_of_both_signs_are_known() -> None:
    normal, uniform = torch.randn(64, 64), torch.rand(64, 64)
    assert is_centred([normal, [normal, torch.arange(9)]])
    assert not is_centred([normal, uniform])
    assert not is_centred([torch.arange(9)]) and not is_centred([torch.zeros(9)])
