"""A problem file may be wrong in many ways: the error says in which, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from profilers.kernelbench.shared.problem import ProblemFault, ProblemFile  # noqa: E402
from tests.support.kernelbench_problems import LINEAR, LINEAR_INPUTS, linear_problem, write  # noqa: E402

CPU = torch.device("cpu")


def load(folder: Path, source: str) -> ProblemFile:
    path = folder / "problem.py"
    path.write_text("import torch\n" + source)
    return ProblemFile(path, CPU)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def get_inputs(:\n", "SyntaxError.*line 2"),
        ("import no_such_package\n", "install no_such_package"),
        ("x = [][1]\n", r"IndexError.*line 2 of the problem file: x = \[\]\[1\]"),
        ("def get_inputs(): return []\n", "defines no Model"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_fault(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(ProblemFault, match=said):
        load(tmp_path, source)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ("torch.rand(3)", "returns a Tensor; it returns the list"),
        ("[1, 2.0]", "returns no tensor"),
        ("[torch.rand(-1)]", "get_inputs.. fails: RuntimeError.*line"),
    ],
)
def test_inputs_without_a_tensor_are_a_fault(tmp_path: Path, inputs: str, said: str) -> None:
    path = write(tmp_path, LINEAR, inputs=inputs, init="[4]")
    with pytest.raises(ProblemFault, match=said):
        ProblemFile(path, CPU).inputs(1)


def test_a_constructor_that_raises_is_blamed_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, LINEAR, inputs=LINEAR_INPUTS, init="['no size']")
    with pytest.raises(ProblemFault, match=r"Model\(\*get_init_inputs\(\)\) fails: TypeError"):
        ProblemFile(path, CPU).model(1)


def test_a_model_that_is_no_module_is_a_fault(tmp_path: Path) -> None:
    source = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
    with pytest.raises(ProblemFault, match=r"not a torch\.nn\.Module"):
        load(tmp_path, source).model(1)


def test_arguments_given_by_name_become_positional(tmp_path: Path) -> None:
    path = write(tmp_path, LINEAR, inputs=LINEAR_INPUTS, init="{'size': 4}")
    problem = ProblemFile(path, CPU)
    assert problem.init_inputs(1) == [4]
    assert problem.model(1).linear.in_features == 4


def test_the_same_seed_draws_the_same_and_another_does_not(tmp_path: Path) -> None:
    problem = ProblemFile(linear_problem(tmp_path), CPU)
    first, again, other = (problem.inputs(seed)[0] for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    ours, same = problem.model(3), problem.model(3)
    assert torch.equal(ours.linear.weight, same.linear.weight)
