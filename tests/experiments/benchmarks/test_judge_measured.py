"""Commands that measure the judge: what they print, and what they say without a GPU."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from experiments.benchmarks.evidence import tf32_errors, verdict_times
from experiments.runs.machines.machine import gpu_problem
from mcts.requests import EvaluatorRequest
from profilers.kernelbench.judge.clients import WorkerClient
from profilers.kernelbench.judge.evaluator import KernelBenchEvaluator
from tests.support import suite_judge


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A problem and two candidates, judged without a GPU."""

    def choose(source: object, _judging: object, *, on_progress: object) -> KernelBenchEvaluator:
        task = source.task  # type: ignore[attr-defined]
        return suite_judge.evaluator(EvaluatorRequest(task=task))

    monkeypatch.setattr(verdict_times, "choose_evaluator", choose)
    files = {"1_P.py": suite_judge.FAIR, "a.py": suite_judge.FAST, "b.py": suite_judge.WRONG}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in files]


def test_each_verdict_has_a_line_with_its_time(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_what_a_verdict_spends_its_time_on(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = WorkerClient.ask
    assert verdict_times.main([*words[:2], "--steps"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    steps = [re.fullmatch(r" +(\d+\.\d\d) s  (\w+: \w+), (\d+) times", line) for line in lines]
    opened, verdict, again = (
        [match for match in group if match]
        for is_step, group in itertools.groupby(steps, key=bool)
        if is_step
    )
    for found in (opened, verdict, again):
        seconds = [float(match[1]) for match in found]
        assert seconds == sorted(seconds, reverse=True)
        ran = {match[2]: int(match[3]) for match in found}
        assert ran["worker: run"] == ran["baseline: run"] >= 3, "a block has two sides"
    assert WorkerClient.ask is before


def test_tf32_is_not_measured_without_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    if gpu_problem(0, torch=True) is None:
        pytest.skip("a GPU is here")
    assert tf32_errors.main([]) == 2
    assert "needs a GPU" in capsys.readouterr().err
