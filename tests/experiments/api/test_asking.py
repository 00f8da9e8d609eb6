"""One question from Python, one answer, nothing printed."""

from __future__ import annotations

from pathlib import Path

import pytest

import rooftree


def test_the_tasks_own_kernel_and_files_are_judged(tmp_path: Path) -> None:
    own, faster = (
        rooftree.evaluate("transpose", evaluator="replay", tunables=values)[0]
        for values in ({}, {"TILE": 64, "STAGE": 1})
    )
    assert own.speedup == pytest.approx(1.0, abs=0.02) and (faster.speedup or 0) > 1
    run = rooftree.optimize("transpose", evaluator="replay", evaluations=5)
    candidate = run.record.best.candidate
    assert candidate is not None
    (again,) = rooftree.evaluate("transpose", candidate, evaluator="replay")
    assert again.speedup == pytest.approx(run.speedup, rel=0.05)


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    with pytest.raises(rooftree.InputError, match="out of range"):
        rooftree.evaluate("transpose", evaluator="replay", tunables={"TILE": 7})


def test_an_inspection_has_parts_with_findings() -> None:
    found = rooftree.inspect(
        Path("experiments/data/tasks/transpose/kernel.cu"), replay=_recording()
    )
    assert found.parts and found.parts[0].guidance.findings


def _recording() -> Path:
    return sorted(Path("experiments/data/tasks/transpose/recordings").iterdir())[-1]


def test_a_study_is_run_once_and_compared(tmp_path: Path) -> None:
    table = {
        "name": "small", "tasks": ["transpose"], "seeds": 2, "budget": 5, "at": [],
        "reference": "tree", "arms": {"tree": {}, "greedy": {"search": "greedy"}},
    }  # fmt: skip
    seen: list[tuple[int, int]] = []
    found = rooftree.study(
        table, out=tmp_path / "s", jobs=1, on_progress=lambda *at: seen.append(at)
    )
    assert [contest.arm for contest in found.contests] == ["greedy", "greedy"]
    assert seen[-1] == (4, 4)
    seen.clear()
    rooftree.study(table, out=tmp_path / "s", jobs=1, on_progress=lambda *at: seen.append(at))
    assert seen == [(4, 4)]


def test_a_study_with_a_model_is_left_to_the_command() -> None:
    with pytest.raises(rooftree.InputError, match="rooftree study advice"):
        rooftree.study("advice")
