"""KernelBench's evaluator asked about what suites and studies ended with: once for each kernel, and
in a table.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.benchmarks.evidence import kernels_by_kernelbench
from experiments.benchmarks.evidence.exports import Export, exports
from experiments.benchmarks.evidence.kernelbench_checkout import Checkout, KernelBenchVerdict
from experiments.benchmarks.kernels_for_comparison import run_kernelbench
from experiments.benchmarks.model_studies.folder import ModelStudyFolder
from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.outcome import Gain, Outcome
from mcts.errors import InputError

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 8))

    def forward(self, x, times):
        return x @ self.weight * times

def get_inputs():
    return [torch.randn(4, 64)]
"""
HEADLINE = Path(kernels_by_kernelbench.__file__).parent / "model_studies" / "headline"


@pytest.fixture
def suite(tmp_path: Path) -> SuiteFolder:
    """Two problems with a kernel each; the second was not concluded."""
    folder = SuiteFolder(tmp_path / "suite")
    files = [tmp_path / name for name in ("26_GELU_.py", "40_LayerNorm.py")]
    numbered = zip((26, 40), files, strict=True)
    folder.begin({}, [ProblemFile(level=1, number=number, path=file) for number, file in numbered])
    gain = Gain(over="eager PyTorch", time_us=50, baseline_us=100, speedup=2, low=1.9, high=2.1)
    folder.keep(Outcome(level=1, number=26, name="1/26_GELU_", status="correct", eager=gain))
    for key in ("level1_26", "level1_40"):
        folder.write_kernel(key, f"# {key}\n")
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which problems KernelBench was asked about; it takes the first alone."""
    names: list[str] = []

    def ask(_checkout: Checkout, export: Export, *, device: int) -> KernelBenchVerdict:
        names.append(export.name)
        good = export.problem == "level1/26"
        return KernelBenchVerdict(
            verdict="correct" if good else "incorrect",
            speedup=1.97 if good else None,
            seconds=4.5,
        )

    monkeypatch.setattr(kernels_by_kernelbench, "ask", ask)
    monkeypatch.setattr(kernels_by_kernelbench, "gpu_problem", lambda device, torch: None)
    monkeypatch.setattr(Checkout, "check", lambda self: None)
    return names


def run(suite: SuiteFolder, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["suite", str(suite.path), "--root", "nowhere"])
    return kernels_by_kernelbench.main()


def test_the_table_has_both_verdicts_and_an_unaccepted_kernel_is_exit_code_1(
    suite: SuiteFolder,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(suite, monkeypatch) == 1
    printed = capsys.readouterr().out
    assert "| 1/26_GELU_ | 100 | 50 | 2.00x (1.90 to 2.10) |  | correct, 1.97x |" in printed
    assert "| 1/40_LayerNorm |  |  |  |  | incorrect |" in printed
    assert "KernelBench accepts 1 of 2." in printed


def test_only_what_is_missing_or_another_kernel_is_asked_again(
    suite: SuiteFolder, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(suite, monkeypatch)
    run(suite, monkeypatch)
    assert asked == ["1/26_GELU_", "1/40_LayerNorm"]
    suite.write_kernel("level1_40", "# another\n")
    run(suite, monkeypatch)
    assert asked[2:] == ["1/40_LayerNorm"]


def test_damaged_answers_are_exit_code_2(
    suite: SuiteFolder,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (suite.path / kernels_by_kernelbench.ANSWERS).write_text("{")
    assert run(suite, monkeypatch) == 2
    assert "delete it to ask again" in capsys.readouterr().err
    assert asked == []


def test_a_folder_that_is_no_suite_is_exit_code_2(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(SuiteFolder(tmp_path / "none"), monkeypatch) == 2


def test_the_winners_of_a_study_stand_alone_and_have_its_figures() -> None:
    winners = {export.key: export for export in exports(HEADLINE)}
    lines = [line for line in ModelStudyFolder(HEADLINE).lines() if line.final is not None]
    assert len(winners) == len(lines) > 0
    for line in lines:
        winner = winners[f"{line.arm}/{line.task}-{line.seed}"]
        assert winner.problem.partition("/")[2] == line.task.partition("_")[0]
        assert "class ModelNew" in winner.source and "import codegen" not in winner.source
        assert "from codegen" not in winner.source
        assert winner.eager is not None and line.final is not None
        assert winner.eager.speedup == pytest.approx(line.final.speedup, abs=1e-6)
        assert (winner.compiled is None) == (line.compiled is None)


def test_a_study_whose_winner_is_not_in_its_measurements_says_which(tmp_path: Path) -> None:
    shutil.copytree(HEADLINE, tmp_path / "study")
    with sqlite3.connect(tmp_path / "study" / "measurements.sqlite") as store:
        store.execute("DELETE FROM measurement WHERE kind = 'candidate'")
    with pytest.raises(InputError, match="does not hold candidate-"):
        exports(tmp_path / "study")


def test_integers_stay_integers_in_its_evaluator_and_that_is_said() -> None:
    torch = pytest.importorskip("torch")

    def process(value: Any, device: str, backend: str = "cuda", precision: Any = None) -> Any:
        return value.to(dtype=torch.float32) if isinstance(value, torch.Tensor) else value

    evaluator = SimpleNamespace(_process_input_tensor=process)
    kept = run_kernelbench.keep_integers(evaluator)
    changed = evaluator._process_input_tensor
    assert changed(torch.zeros(2, dtype=torch.float64), "cpu", "cuda").dtype == torch.float32
    assert changed(3, "cpu") == 3 and kept == []
    assert changed(torch.tensor([1, 2]), "cpu", "cuda", torch.float32).dtype == torch.int64
    assert kept == ["torch.int64"]


def test_what_is_refused_is_asked_again_in_double_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    root = tmp_path / "KernelBench" / "level1"
    root.mkdir(parents=True)
    (root / "1_A.py").write_text(PROBLEM)
    sources: list[str] = []

    def judge(
        _checkout: Checkout, _problem: str, source: str, *, builds: Path, device: int
    ) -> KernelBenchVerdict:
        sources.append(source)
        return KernelBenchVerdict(verdict="incorrect by 0.02 at most", speedup=None, seconds=1.0)

    monkeypatch.setattr(Checkout, "judge", judge)
    export = Export(
        folder=tmp_path, key="level1_1", name="1/A", problem="level1/1", source="# a kernel",
        eager=None, compiled=None,
    )  # fmt: skip
    verdict = kernels_by_kernelbench.ask(Checkout(tmp_path), export, device=0)
    assert verdict.double == "incorrect by 0.02 at most" and len(sources) == 2
    told = kernels_by_kernelbench.table([(export, verdict)])
    assert "incorrect by 0.02 at most (in double precision: incorrect by 0.02 at most)" in told
    assert "Of the others it refuses 1 in double precision too." in told
    answers = kernels_by_kernelbench.Answers(tmp_path)
    answers.keep(export, verdict)
    assert kernels_by_kernelbench.Answers(tmp_path).of(export) == verdict
    names: dict[str, Any] = {}
    exec(sources[1], names)
    model, inputs = names["ModelNew"](), names["get_inputs"]()
    exact = inputs[0].double() @ model.weight.double()
    assert torch.equal(model(*inputs, 2), 2 * exact.float())
    assert model.weight.dtype == torch.float32
