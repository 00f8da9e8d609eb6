"""Random inputs that are what their names say, as SOL-ExecBench draws them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.runs.tasks.definitions import TensorField
from experiments.runs.tasks.named_inputs import named_draw
from tests.support.commands import completed

torch: Any = pytest.importorskip("torch")


def drawn(name: str, *axes: str, about: str | None = None, dtype: str = "float32") -> Any:
    """Sixty-four by sixty-four numbers, or None where the name says nothing."""
    field = TensorField(shape=axes or ("rows", "columns"), dtype=dtype, description=about)
    text = named_draw(name, field)
    if text is None:
        return None
    torch.manual_seed(3)
    made = eval(text.format(shape="[64, 64]", dtype=f"torch.{dtype}"), {"torch": torch})
    assert made.dtype == getattr(torch, dtype) and list(made.shape) == [64, 64]
    return made.float()


@pytest.mark.parametrize("name", ["norm_weight", "input_layernorm_weight", "q_norm2_weight"])
def test_norms_begin_as_they_are_constructed(name: str) -> None:
    assert (drawn(name) == 1).all()
    assert (drawn(name.replace("weight", "bias")) == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_masks_mask(dtype: str) -> None:
    causal = drawn("causal_mask", "n", "n", dtype=dtype)
    assert (causal.tril() == 0).all() and float(causal[0, 1]) < -1e30
    told = drawn("bias", "n", "n", about="A causal attention mask.", dtype=dtype)
    assert (told == causal).all()
    for found in (drawn("text_mask", dtype=dtype), drawn("my_mask", about="1.0 for valid ones")):
        assert set(found.unique().tolist()) == {0.0, 1.0}
    assert drawn("my_mask") is None


def test_numbers_are_in_the_range_that_their_names_mean() -> None:
    assert float(drawn("rope_cos").abs().max()) <= 1 and float(drawn("sin").min()) < -0.9
    for name in ("rstd", "running_var", "x_variance", "std2"):
        assert float(drawn(name).min()) >= 0.1
    sums = drawn("A_cumsum")
    assert (sums.diff(dim=-1) <= 0).all() and float(sums.min()) > -6.4
    assert float(drawn("A").min()) >= -1 and float(drawn("A").max()) < 0
    assert float(drawn("A_log").max()) <= -1 and float(drawn("g").min()) >= -5
    for found in (drawn("routing_weights"), drawn("p", about="The output of a softmax.")):
        assert torch.allclose(found.sum(dim=-1), torch.ones(64), atol=1e-3)


@pytest.mark.parametrize("name", ["weight", "o_proj", "gate_proj_weight", "expert_weights3"])
def test_matrices_of_weights_keep_the_scale_of_what_they_are_applied_to(name: str) -> None:
    assert float(drawn(name).std()) == pytest.approx(1 / 8, rel=0.1)
    vector = TensorField(shape=("columns",), dtype="float32")
    assert named_draw(name, vector) is None


@pytest.mark.parametrize(
    ("name", "dtype"), [("hidden_states", "float32"), ("weight", "int32"), ("A", "float8_e4m3fn")]
)
def test_other_names_and_narrow_numbers_say_nothing(name: str, dtype: str) -> None:
    assert named_draw(name, TensorField(shape=("rows", "columns"), dtype=dtype)) is None
    assert named_draw("std", TensorField(shape=None, dtype="float32")) is None


def test_problem_files_are_drawn_by_name_where_that_is_wanted(tmp_path: Path) -> None:
    definition = {
        "name": "masked", "axes": {"n": {"type": "var"}},
        "inputs": {"causal_mask": {"shape": ["n", "n"], "dtype": "float32"}},
        "outputs": {"y": {"shape": ["n", "n"], "dtype": "float32"}},
        "reference": "import torch\n\ndef run(causal_mask):\n    return causal_mask.exp()\n",
    }  # fmt: skip
    file = tmp_path / "definition.json"
    file.write_text(json.dumps(definition))
    inputs = {"causal_mask": {"type": "random"}}
    line = {"uuid": "one", "axes": {"n": 4}, "inputs": inputs}
    (tmp_path / "workload.jsonl").write_text(json.dumps(line) + "\n")
    for options, total in (((), None), (("--by-name",), 10.0)):
        completed("tasks", "from-definition", file, "-o", tmp_path, *options)
        made: dict[str, Any] = {}
        exec((tmp_path / "masked_n4.py").read_text(), made)
        (mask,) = made["get_inputs"]()
        assert (float(mask.exp().sum()) == total) is (total is not None)
