"""Solutions of a dataset, given to FlashInfer-Bench's own command and to our judge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.benchmarks.evidence import against_flashinfer_bench as compared
from mcts.domain import Evaluation, Timing, Verification
from mcts.errors import InputError, WorldError

DEFINITION = {
    "name": "scale_n8",
    "op_type": "scale",
    "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 8}},
    "inputs": {"x": {"shape": ["M", "N"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
    "reference": "def run(x):\n    return 2 * x",
}
SOLUTION = {
    "name": "twice",
    "definition": "scale_n8",
    "author": "somebody",
    "spec": {
        "language": "python",
        "target_hardware": ["LOCAL"],
        "entry_point": "main.py::run",
        "destination_passing_style": False,
    },
    "sources": [{"path": "main.py", "content": "def run(x):\n    return x + x\n"}],
}
# Writes what the benchmark does: a line for each workload and solution.
THEIRS = """
import json, pathlib, sys
root = pathlib.Path(sys.argv[sys.argv.index("--local") + 1])
solutions = [json.loads(p.read_text()) for p in (root / "solutions").rglob("*.json")]
out = root / "traces" / "scale.jsonl"
out.parent.mkdir()
lines = []
def cli():
    for file in (root / "workloads").rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            for one in solutions:
                slow = one["name"] == "other"
                evaluation = {"status": "INCORRECT_NUMERICAL"} if slow else {
                    "status": "PASSED",
                    "performance": {"latency_ms": 0.01, "speedup_factor": 2.0}}
                lines.append(json.loads(line) | {"solution": one["name"], "evaluation": evaluation})
    out.write_text("".join(json.dumps(each) + chr(10) for each in lines))
"""


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "dataset"
    workloads = [
        {"workload": {"uuid": f"u{m}", "axes": {"M": m}, "inputs": {"x": {"type": "random"}}}}
        for m in (1, 2, 3)
    ]
    files = {
        "definitions/scale/scale_n8.json": json.dumps(DEFINITION),
        "definitions/alone.json": json.dumps(DEFINITION | {"name": "alone"}),
        "workloads/scale/scale_n8.jsonl": "".join(json.dumps(each) + "\n" for each in workloads),
        "solutions/twice.json": json.dumps(SOLUTION),
        "solutions/other.json": json.dumps(SOLUTION | {"name": "other"}),
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    package = tmp_path / "packages" / "flashinfer_bench" / "cli"
    package.mkdir(parents=True)
    (package / "main.py").write_text(THEIRS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    return root


class Judge:
    """Takes everything for twice as fast."""

    def evaluate(self, candidate: Any) -> Evaluation:
        timing = Timing(
            median_us=10.0, low_us=9.0, high_us=11.0, baseline_us=20.0, speedup=2.0,
            speedup_low=1.9, speedup_high=2.1, rounds=5,
        )  # fmt: skip
        right = Verification(passed=True, rounds=3)
        return Evaluation(
            candidate_id=candidate.id, status="measured", verification=right, timing=timing
        )

    def close(self) -> None:
        """Nothing is open."""


def test_both_are_asked_about_the_same_workloads(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compared, "gpu_problem", lambda *_, **__: None)
    monkeypatch.setattr(compared, "gpu_evaluator", lambda _: Judge())
    monkeypatch.setattr(sys, "argv", ["compare", str(dataset), "--workloads", "2"])
    assert compared.main() == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [
        f"| {name} | M{m} | {theirs} | 2.00x (1.90 to 2.10), 10.0 us |"
        for m in (1, 2)
        for name, theirs in (("other", "INCORRECT_NUMERICAL"), ("twice", "2.00x, 10.0 us"))
    ]


def test_a_dataset_without_solutions_and_a_benchmark_that_fails_are_told(
    dataset: Path, tmp_path: Path
) -> None:
    with pytest.raises(WorldError, match=r"flashinfer-bench failed: .*No such file or directory"):
        compared.by_flashinfer_bench(tmp_path / "nowhere" / "deeper", device=0)
    for path in (dataset / "solutions").iterdir():
        path.unlink()
    with pytest.raises(InputError, match="no definition with a solution"):
        compared.copy_dataset(dataset, tmp_path / "copy", most=1)
