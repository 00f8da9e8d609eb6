"""Commands that measure the judge: what they print, and what they say without a GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.benchmarks.evidence import tf32_errors, verdict_times
from experiments.runs.machines.machine import gpu_problem
from mcts.requests import EvaluatorRequest
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
from tests.support import suite_judge


def test_each_verdict_has_a_line_with_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def choose(source: object, _judging: object, *, on_progress: object) -> KernelBenchEvaluator:
        task = source.task  # type: ignore[attr-defined]
        return suite_judge.evaluator(EvaluatorRequest(task=task))

    monkeypatch.setattr(verdict_times, "choose_evaluator", choose)
    files = {"1_P.py": suite_judge.FAIR, "a.py": suite_judge.FAST, "b.py": suite_judge.WRONG}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    words = [str(tmp_path / name) for name in files]
    assert verdict_times.main([*words, "--own", "1"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"1_P on .*: open in \d+\.\d\d s", first)
    shown = [re.fullmatch(r" *(\d+\.\d\d) s  (.*?): (\w+)(, .*)?", line) for line in lines]
    assert [(match[2], match[3]) for match in shown if match] == [
        ("a.py", "measured"),
        ("b.py", "wrong_result"),
        ("a.py again", "measured"),
        ("the model itself", "measured"),
    ]
    assert [bool(match and match[4]) for match in shown] == [True, False, True, True]
    assert verdict_times.main([words[0], str(tmp_path / "none.py")]) == 2
    assert "none.py" in capsys.readouterr().err


def test_tf32_is_not_measured_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    if gpu_problem(0, torch=True) is None:
        pytest.skip("a GPU is here")
    assert tf32_errors.main([]) == 2
    assert "needs a GPU" in capsys.readouterr().err
