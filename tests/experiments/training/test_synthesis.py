"""Tasks made of operators: that they are what they say, and what is thrown out."""

from __future__ import annotations

import ast
import json
import random
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.tasks.files import bundled, find_task
from experiments.training.synthesis import filters, making
from experiments.training.synthesis.catalogue import OPERATORS, Shape, start
from experiments.training.synthesis.composing import (
    MOST_BYTES,
    MOST_OPERATORS,
    WANTED_S,
    compositions,
    estimated_s,
    source_of,
)
from experiments.training.synthesis.likeness import ALIKE, likeness, operators_of, shape_of
from mcts.errors import WorldError
from profilers.kernelbench.judge import trials
from profilers.kernelbench.judge.trials import Trial
from tests.support.commands import completed, failed, rooftree

MADE = list(islice(compositions(7), 60))
PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, y):
        return {}

def get_inputs():
    return [torch.rand(4, 8), torch.rand(4, 8)]

def get_init_inputs():
    return []
"""


def test_the_same_seed_makes_the_same_tasks() -> None:
    again = list(islice(compositions(7), 60))
    assert [source_of(one, one.first) for one in MADE] == [
        source_of(one, one.first) for one in again
    ]
    other = list(islice(compositions(8), 60))
    assert [one.operators for one in MADE] != [one.operators for one in other]


@pytest.mark.parametrize("made", MADE[:20], ids=lambda made: "_".join(made.operators))
def test_a_task_is_a_problem_file_of_the_wanted_size(made, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert 1 <= len(made.parts) <= MOST_OPERATORS
    layers = made.layers(made.first)
    assert WANTED_S[0] / 2 < estimated_s(layers) < WANTED_S[1] * 2
    assert 4 * made.first.elements < MOST_BYTES
    file = tmp_path / "1_made.py"
    file.write_text(source_of(made, made.first))
    assert find_task(str(file)).task.dialect.in_pytorch
    ast.parse(source_of(made, made.small))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_operator_is_used_and_keeps_what_it_says_of_shapes(operator) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    draw, tried = random.Random(3), 0
    while tried < 3:
        shape = start(draw)
        layer = operator.make(shape, random.Random(1)) if shape.kind in operator.kinds else None
        if layer is None:
            continue
        tried += 1
        small = Shape(
            shape.kind, 2, shape.width, {"image": 32, "sequence": 16, "rows": 1}[shape.kind]
        )
        layer = operator.make(small, random.Random(1))
        assert layer is not None
        names = {f"{name}1": value for name, value in layer.constants.items()}
        space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, **names}
        model = torch.nn.Module()
        space |= {"self": model, "x": torch.rand(small.sizes), "y1": torch.rand(small.sizes)}
        for line in (*layer.init, *layer.forward):
            exec(line.replace("{n}", "1"), space)
        assert tuple(space["x"].shape) == layer.out.sizes
        assert ("y1" in " ".join(layer.forward).replace("{n}", "1")) == layer.second


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("x + y", None),
        ("x", "does not depend on all of its inputs"),
        ("x * 0 + y * 0", "its output is constant"),
        ("torch.ones(4, 8) * torch.arange(8)", "its output is the same for other inputs"),
        ("x + y + torch.rand(4, 8)", "its output does not repeat"),
        ("x / 0 + y", "its output is not finite"),
        ("x @ y", "does not run"),
        ("x + y if float(x.sum()) > 1 else y - x", "does not run"),
    ],
)
def test_what_cannot_be_a_task_is_thrown_out(formula: str, why: str | None) -> None:
    pytest.importorskip("torch")
    found = filters.fails_on_processor(PROBLEM.replace("{}", formula))
    assert found is why is None or (found or "").partition(":")[0] == why


def test_made_tasks_pass_on_the_processor() -> None:
    pytest.importorskip("torch")
    found = [filters.fails_on_processor(source_of(made, made.small)) for made in MADE[:25]]
    assert found.count(None) >= 20
    assert not [why for why in found if why and why.startswith("does not run")]


def test_likeness_knows_syntax_not_names() -> None:
    one = shape_of(PROBLEM.replace("{}", "torch.relu(x) + y"))
    assert likeness(one, shape_of(PROBLEM.replace("{}", "torch.relu(y) + x"))) == 1
    assert likeness(one, shape_of(PROBLEM.replace("{}", "torch.tanh(x) * y"))) < 1
    assert likeness(one, shape_of("def f(): ...")) == 0
    assert shape_of("nonsense(") == operators_of("nonsense(") == operators_of("x = 1") == ()
    different = shape_of(source_of(MADE[0], MADE[0].first))
    assert likeness(one, different, least=ALIKE) == 0


LAYER = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n: int):
        super(Model, self).__init__()
        self.act = nn.{}
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(x)
"""


@pytest.mark.parametrize(
    ("written", "operator"),
    [
        (PROBLEM.replace("{}", "torch.relu(x)"), "relu"),
        (PROBLEM.replace("{}", "F.relu(x)"), "relu"),
        (LAYER.replace("{}", "ReLU()"), "relu"),
        (LAYER.replace("{}", "Softmax(dim=1)"), "softmax"),
        (PROBLEM.replace("{}", "x.softmax(-1)"), "softmax"),
        (LAYER.replace("{}", "LayerNorm(n)"), "layernorm"),
        (PROBLEM.replace("{}", "F.layer_norm(x, (8,))"), "layernorm"),
        (PROBLEM.replace("{}", "x * torch.sigmoid(x)"), "silu"),
        (PROBLEM.replace("{}", "x.sigmoid() * x"), "silu"),
        (LAYER.replace("{}", "Sigmoid()").replace("self.act(x)", "self.act(x) * x"), "silu"),
        (PROBLEM.replace("{}", "x * torch.tanh(F.softplus(x))"), "mish"),
        (LAYER.replace("{}", "InstanceNorm2d(n)"), "instancenorm"),
    ],
)
def test_what_is_computed_is_known_however_it_is_written(written: str, operator: str) -> None:
    assert operators_of(written) == (operator,)


def test_a_gate_counts_its_operand_once_and_only_its_own() -> None:
    gated = operators_of(PROBLEM.replace("{}", "torch.exp(x) * torch.sigmoid(torch.exp(x))"))
    assert gated == ("exp", "silu")
    for text in ("x * torch.sigmoid(y)", "x * torch.sigmoid(x, out=y)", "x * y.sigmoid(x, y)"):
        assert operators_of(PROBLEM.replace("{}", text)) == ("sigmoid", "scale")
    assert operators_of(PROBLEM.replace("{}", "x + torch.sigmoid(x)")) == ("sigmoid", "shift")


def test_a_problem_of_the_benchmark_is_not_taken(tmp_path: Path) -> None:
    known = tmp_path / "19_ReLU.py"
    known.write_text(LAYER.replace("{}", "ReLU()"))
    likeness_to = filters.Likeness([known])
    assert likeness_to.refusal(PROBLEM.replace("{}", "F.relu(x)")) is not None
    other = PROBLEM.replace("{}", "torch.tanh(x) * y")
    assert likeness_to.refusal(other) is None
    likeness_to.take(other)
    assert likeness_to.refusal(PROBLEM.replace("{}", "torch.tanh(y) * x")) is not None
    assert likeness_to.refusal(PROBLEM.replace("{}", "torch.sigmoid(x) * y")) is None


class Device:
    """Stands where a GPU is: trials come to what is given, in the order of their sources."""

    def __init__(self, *found: Trial | type[Exception]) -> None:
        self._found, self.tried = iter(found), 0

    def try_out(self, _source: str, *, shortest_us: float, longest_us: float) -> Trial:
        self.tried += 1
        found = next(self._found)
        if isinstance(found, Trial):
            return found
        raise found

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (Trial(us=999.0), "takes less than 1 ms"),
        (Trial(us=5000.0), None),
        (Trial(us=100_001.0), "takes more than 100 ms"),
        (Trial(us=5000.0, not_compiled="it says why"), "is not taken by torch.compile"),
        (Trial(refused="its output depends on no input"), "is refused by the task gate"),
        (Trial(fails="forward: RuntimeError"), "does not run on the GPU"),
    ],
)
def test_what_a_gpu_throws_out(found: Trial, why: str | None) -> None:
    assert filters.fails_on_gpu(PROBLEM, Device(found)) == why  # type: ignore[arg-type]


@pytest.fixture
def one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU in an empty folder, on which one process tries tasks; all pass on the processor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(making, "fails_on_processor", lambda _source: None)
    monkeypatch.setattr(making, "can_use_gpu", lambda _judging: True)
    monkeypatch.setattr(making, "_MOST_AT_ONCE", 1)


@pytest.mark.usefixtures("one_at_a_time")
def test_a_gpu_tries_ahead_and_again_what_had_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    well, short = Trial(us=5000.0), Trial(us=10.0)

    def make(*found: Trial | type[Exception]) -> tuple[dict[str, Any], Device]:
        device = Device(*found)
        monkeypatch.setattr(trials, "ProblemTrials", lambda *_, **__: device)
        completed("tasks", "synthesise", "--n", 3, "-o", "made", "--seed", 3, "--gpu")
        return json.loads(Path("made/synthesis.json").read_text()), device

    facts, device = make(well, short, well, well, well, well)
    assert facts["thrown_out"] == {"takes less than 1 ms": 1} and facts["tried"] == 4
    assert device.tried <= 6, "no more than two of each process ahead"
    assert facts["unchecked"] == ["likeness to a benchmark: name one with --unlike"]
    facts, _ = make(well, trials.NoRoom, well, well, well, well, well)
    assert (facts["taken"], facts["tried"]) == (3, 3), "alone it had room"
    # Two are tried ahead, by one process: the fifth trial is that of the second task alone.
    facts, _ = make(well, trials.NoRoom, well, well, trials.NoRoom, well, well, well)
    assert facts["thrown_out"] == {"is too large for the GPU": 1}


@pytest.mark.usefixtures("one_at_a_time")
def test_a_gpu_that_fails_ends_it_and_keeps_what_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = Device(Trial(us=5000.0), WorldError, *[Trial(us=5000.0)] * 9)
    monkeypatch.setattr(trials, "ProblemTrials", lambda *_, **__: device)
    assert rooftree("tasks", "synthesise", "--n", 3, "-o", "made", "--gpu").exit_code != 0
    assert json.loads(Path("made/synthesis.json").read_text())["taken"] == 1


def test_synthesise_writes_a_level_and_says_what_it_threw_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    alternately = iter([None, "its output is constant"] * 50)
    monkeypatch.setattr(making, "fails_on_processor", lambda _source: next(alternately))
    monkeypatch.setattr(making, "can_use_gpu", lambda _judging: False)
    told = completed("tasks", "synthesise", "--n", 4, "-o", "made", "--seed", 3).output
    assert "4 tasks of" in told and "its output is constant" in told
    assert "not checked: time" in told and "not checked: likeness" in told
    Path("theirs").mkdir()
    Path("theirs/x").write_text("x")
    failed(rooftree("tasks", "synthesise", "--n", 1, "-o", "theirs"), "holds something else")
    failed(rooftree("tasks", "synthesise", "--n", 1, "-o", "x", "--gpu"), "no GPU with PyTorch")
    failed(rooftree("tasks", "synthesise", "-o", "x", "--unlike", "no"), "--unlike no does not")
    assert not Path("x").exists()
    files = sorted(Path("made/level2").iterdir())
    assert [file.name.split("_")[0] for file in files] == ["1", "2", "3", "4"]
    facts = json.loads(Path("made/synthesis.json").read_text())
    assert facts["taken"] == 4 and sum(facts["thrown_out"].values()) == facts["tried"] - 4
    completed("tasks", "synthesise", "--n", 2, "-o", "made")
    assert len(list(Path("made/level2").iterdir())) == 2, "what was there is replaced"
    monkeypatch.setattr(making, "fails_on_processor", lambda _source: "its output is constant")
    failed(rooftree("tasks", "synthesise", "--n", 1, "-o", "none"), "only 0 of 50")
    assert json.loads(Path("none/synthesis.json").read_text())["taken"] == 0
    monkeypatch.setattr(filters, "has_module", lambda _name: False)
    monkeypatch.setattr(making, "fails_on_processor", filters.fails_on_processor)
    failed(rooftree("tasks", "synthesise", "--n", 1, "-o", "none"), "needs PyTorch")


def test_tasks_alone_still_lists_the_bundled_ones() -> None:
    assert "row_softmax" in completed("tasks").stdout
    assert len(json.loads(completed("tasks", "--json").stdout)) == len(bundled())
