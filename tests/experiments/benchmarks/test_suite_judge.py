"""A suite judged by the real judge, its processes and its gate, on a device of numpy and sleep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.runs.options import names
from tests.support import suite_judge
from tests.support.commands import completed
from tests.support.suite_world import make_level


def test_measured_confirmed_gated_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group, part in ((names.EVALUATORS, "evaluator"), (names.PROPOSERS, "proposer")):
        table = {**names.OURS[group], "numpy": f"tests.support.suite_judge:{part}"}
        monkeypatch.setitem(names.OURS, group, table)  # type: ignore[arg-type]
    root = make_level(
        tmp_path / "kb",
        {"1_Product.py": suite_judge.FAIR, "2_Constant.py": suite_judge.CONSTANT},
    )
    out = tmp_path / "suite"
    words = [
        "kernelbench", "run", "--root", root, "--level", 1, "-o", out, "--budget", 2,
        "--evaluator", "numpy", "--proposer", "numpy", "--memory", tmp_path / "memory.sqlite",
    ]  # fmt: skip
    completed(*words)
    first, second = json.loads((out / "results.json").read_text())["problems"]
    assert first["status"] == "correct", first
    assert 1.5 < first["eager"]["low"] <= first["eager"]["speedup"] < 6
    assert first["eager"]["over"] == "eager PyTorch"
    assert first["not_compiled"] == "there is nothing that compiles numpy"
    assert (out / first["kernel"]).read_text() == suite_judge.FAST
    assert second["status"] == "unfair"
    assert "constant" in second["message"]
