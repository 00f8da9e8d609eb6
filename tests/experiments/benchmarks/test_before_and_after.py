"""Two arms set beside each other by problem: their trials, their winners, what they cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from experiments.benchmarks.evidence import before_and_after
from experiments.benchmarks.evidence.before_and_after import Trial, best_after, compared
from mcts.errors import InputError
from tests.experiments.conftest import TASK_TOML, write_task
from tests.support import formula_gpu
from tests.support.commands import completed
from tests.support.file_answers import answer_all
from tests.support.openai_server import AutoModel

STUDY = """
kind = "model"
tasks = ["7_toy"]
trials = 3
at = [1]
reference = "after"
evaluator = "formula-gpu"

[model]
name = "queue/person"

[arms.after]
[arms.greedy]
search = "greedy"
"""


def trial(problem: int, number: int, speedup: float | None) -> Trial:
    status = "measured" if speedup else "wrong_result"
    return Trial(problem, number, status, speedup, "a name", 100, 10, 2.0)


def keep(
    folder: Path, arm: str, trials: list[Trial], winners: dict[str, list[dict[str, object]]]
) -> None:
    (folder / arm).mkdir()
    text = "".join(json.dumps(asdict(each)) + "\n" for each in trials)
    (folder / arm / "trials.jsonl").write_text(text)
    for name, rows in winners.items():
        lines = "".join(json.dumps({"key": "k", "row": row}) + "\n" for row in rows)
        (folder / arm / name).write_text(lines)


def verdict(problem: int, speedup: float | None) -> dict[str, object]:
    low_and_high = (None, None) if speedup is None else (speedup - 0.1, speedup + 0.1)
    return {
        "problem": f"level2_{problem}",
        "status": "measured" if speedup else "wrong_result",
        "speedup": speedup,
        "speedup_low": low_and_high[0],
        "speedup_high": low_and_high[1],
    }


def shown(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.argv", ["before_and_after", str(folder), "--trials", "2"])
    assert before_and_after.main() == 0
    return capsys.readouterr().out


def test_arms_are_compared_by_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [trial(3, 1, 2.0), trial(3, 2, None), trial(3, 3, 50.0), trial(4, 1, 1.0)]
    after = [trial(3, 1, None), trial(3, 2, 4.0), trial(4, 1, 0.5), trial(4, 2, 3.0)]
    keep(tmp_path, "before", before, {"winners.jsonl": [verdict(3, 2.0), verdict(4, None)]})
    fallback = [verdict(3, None), verdict(3, 4.0), verdict(4, 3.0)]
    keep(tmp_path, "after", after, {"winners.jsonl": fallback})
    said = shown(tmp_path, capsys, monkeypatch)
    assert "| 3 | 4.00 | 2.00 | 4.00 (3.90 to 4.10) | 2.00 (1.90 to 2.10) |" in said
    assert "| 4 | 3.00 | 1.00 (ended after 1) | 3.00 (2.90 to 3.10) | wrong_result |" in said
    assert "| best of 2, as the searches measured it | 3.46 | 1.41 | 2.45 " in said
    assert "| winners, over eager | 3.46 | 1.41 | 2.45 " in said
    assert "torch.compile" not in said, "nothing was judged over it"
    assert "| after | 4 | 1 | 400 | 40 | 8 |" in said
    assert "| before | 3 | 1 | 300 | 30 | 6 |" in said


def test_a_problem_without_a_right_kernel_counts_as_one() -> None:
    assert best_after([trial(3, 1, None)], 4) == 1.0
    assert best_after([trial(3, 1, 0.9)], 4) == 0.9
    assert best_after([trial(3, 1, 0.9), trial(3, 2, 7.0)], 1) == 0.9


def test_equal_arms_are_even() -> None:
    found = compared([2.0, 3.0], [2.0, 3.0], label="same")
    assert (found.ratio, found.low, found.high, found.p) == (1.0, 1.0, 1.0, 1.0)


def test_trials_are_collected_from_the_folder_of_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_gpu.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path / "7_toy", TASK_TOML.replace("toy", "7_toy"))
    Path("search.toml").write_text(STUDY)
    words = ("study", "search.toml", "-o", "st", "--llm-queue", "queue", "--llm-timeout", 0.1)
    while "wait for an answer" in completed(*words).output:
        assert answer_all(Path("queue"), AutoModel())
    argv = ["before_and_after", "out", "--collect", "st", "--arm", "after"]
    monkeypatch.setattr("sys.argv", argv)
    assert before_and_after.main() == 0
    (found,) = before_and_after.read_trials(Path("out/after")).values()
    assert [each.number for each in found] == [1, 2, 3]
    assert all(each.problem == 7 and each.status == "measured" for each in found)
    assert all(each.asked and each.replied and each.replied < each.asked for each in found)
    with pytest.raises(InputError, match="no runs of an arm before"):
        before_and_after.collect(Path("st"), "before")
