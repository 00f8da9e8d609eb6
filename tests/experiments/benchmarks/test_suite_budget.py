"""How recorded replies are shared out over the problems of a suite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.benchmarks.evidence.suite_budget import Rule, Standing, main, next_problem, shared

STILL = (2.0,) * 12
LATE = (1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0)


@pytest.mark.parametrize(
    ("rule", "floors", "best"),
    [
        ("equal", (3.0, 100.0), [2.0, 8.0]),
        ("gaining", (3.0, 100.0), [2.0, 8.0]),
        ("headroom", (1e6, 2.0), [2.0, 2.0]),
        ("headroom", (None, 100.0), [2.0, 8.0]),
    ],
)
def test_the_rule_says_who_gets_the_trials(
    rule: Rule, floors: tuple[float | None, ...], best: list[float]
) -> None:
    assert shared([STILL, LATE], floors, rule, total=12) == best


def test_all_rules_give_each_problem_the_first_trials() -> None:
    assert shared([STILL, LATE], (None, None), "gaining", total=8) == [2.0, 2.0]


def test_nobody_gets_more_than_was_recorded() -> None:
    assert next_problem([Standing(STILL), Standing(LATE)], "gaining", most=12) is None
    assert shared([STILL, LATE], (None, None), "headroom", total=99) == [2.0, 8.0]


def test_ties_go_to_the_one_with_fewer_trials() -> None:
    ones = [Standing((2.0,) * 5), Standing((2.0,) * 4)]
    assert next_problem(ones, "gaining", most=12) == 1
    assert next_problem(ones, "equal", most=12) == 1


def test_a_passed_floor_is_no_headroom() -> None:
    assert Standing((4.0,), floor=3.0).headroom == 0.0
    assert Standing((4.0,)).headroom == 0.0


def test_a_study_that_has_not_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "is no study that has run" in capsys.readouterr().err
    row = {"arm": "puct", "task": "a", "seed": 0, "best": [[1, 2.0]], "trials": 1}
    (tmp_path / "results.jsonl").write_text(json.dumps(row) + "\n")
    assert main([str(tmp_path), "--arm", "other"]) == 2
    assert "no run of an arm other" in capsys.readouterr().err
