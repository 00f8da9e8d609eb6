"""KernelBench's evaluator asked about what suites and studies ended with: once for each kernel, and
in a table.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from experiments.benchmarks.evidence import kernels_by_kernelbench
from experiments.benchmarks.evidence.exports import Export, exports
from experiments.benchmarks.evidence.kernelbench_checkout import Checkout, KernelBenchVerdict
from experiments.benchmarks.model_studies.folder import ModelStudyFolder
from experiments.benchmarks.suite.finding import ProblemFile
from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.outcome import Gain, Outcome
from mcts.errors import InputError

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
