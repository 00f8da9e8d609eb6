"""The forms of attention are one kernel, compiled by other macros, each with its own reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.app.checking import check_task
from experiments.benchmarks.evidence.attention_forms import WIDTHS, candidates, form, main
from experiments.runs.tasks.files import find_task
from mcts.domain import Workload
from profilers.cuda.reference import NumpyReference

torch: Any = pytest.importorskip("torch")
FORMS = [(width, causal) for width in WIDTHS for causal in (False, True)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path


@pytest.mark.parametrize(("width", "causal"), FORMS)
def test_a_form_compiles_and_its_reference_is_pytorchs_attention(width: int, causal: bool) -> None:
    task = form(width, causal=causal)
    found = list(check_task(task, variants=6, arch="sm_90a", seed=1, say=lambda _: None))
    assert not [one for one in found if one.level == "problem"]
    shape = {"heads": 2, "seq": 9}
    generator = np.random.default_rng(4)
    inputs = {
        buffer.name: generator.standard_normal(buffer.extents(shape)) for buffer in task.inputs
    }
    (got,) = NumpyReference(task)(inputs, Workload(name="tiny", shape=shape)).values()
    q, k, v = (torch.from_numpy(inputs[name]) for name in ("q", "k", "v"))
    fused = torch.nn.functional.scaled_dot_product_attention
    np.testing.assert_allclose(got, fused(q, k, v, is_causal=causal).numpy(), rtol=1e-9, atol=1e-9)


def test_the_bundled_form_is_the_bundled_kernel() -> None:
    task, bundled = form(128, causal=True), find_task("attention_causal").task
    assert task.baseline.source == bundled.baseline.source
    assert task.reference == bundled.reference and task.buffers == bundled.buffers
    assert len({form(width, causal=causal).id for width, causal in FORMS}) == len(FORMS)


def test_all_variants_with_wgmma_are_candidates() -> None:
    found = candidates(form(64, causal=False))
    assert len(found) > 8 and all(one.tunables["MMA"] == 2 for one in found)


def test_without_a_gpu_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["attention_forms"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main() == 2
    assert "PyTorch sees no GPU here" in capsys.readouterr().err
