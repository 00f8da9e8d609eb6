"""The field's metrics, on suites small enough to be counted by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.benchmarks.suite.folder import SuiteFolder
from experiments.benchmarks.suite.metrics import THRESHOLDS, scores, summarize
from experiments.benchmarks.suite.outcome import Gain, Outcome, Spent, Status
from mcts.errors import InputError

SPEEDUPS = st.lists(st.one_of(st.none(), st.floats(0.01, 100.0)), min_size=1, max_size=30)


def gain(speedup: float | None) -> Gain | None:
    if speedup is None:
        return None
    return Gain(
        over="x", time_us=1.0, baseline_us=speedup, speedup=speedup, low=speedup, high=speedup
    )


def outcome(
    number: int,
    status: Status = "correct",
    *,
    eager: float | None = None,
    compiled: float | None = None,
    cost: float | None = None,
) -> Outcome:
    return Outcome(
        level=1, number=number, name=f"1/{number}", status=status, eager=gain(eager),
        compiled=gain(compiled), spent=Spent(evaluations=2, cost_usd=cost, seconds=1.5),
    )  # fmt: skip


SUITE = (
    outcome(1, eager=2.0, compiled=1.0, cost=0.1),
    outcome(2, eager=0.5, compiled=0.25, cost=0.2),
    outcome(3, eager=8.0),
    outcome(4, "failed"),
    outcome(5, "error"),
    outcome(6, "unfair"),
)


def test_metrics_agree_with_a_count_by_hand() -> None:
    found = summarize(SUITE)
    assert (found.counted, found.correct, found.failed, found.errors) == (5, 3, 1, 1)
    assert found.unfair == ("1/6",)
    assert found.pass_rate == 0.6
    assert found.eager.fast == {
        0.0: 0.6, 0.5: 0.4, 0.8: 0.4, 1.0: 0.4, 1.5: 0.4, 2.0: 0.2, 4.0: 0.2,
    }  # fmt: skip
    assert found.eager.geomean_correct == pytest.approx(2.0)
    assert found.eager.geomean_all == pytest.approx(8.0 ** (1 / 5))
    assert found.cost_usd == pytest.approx(0.3)
    assert (found.tokens, found.evaluations, found.seconds) == (None, 12, 9.0)


def test_what_was_not_compiled_is_left_out_not_failed() -> None:
    found = summarize(SUITE).compiled
    assert (found.problems, found.correct) == (4, 2)
    assert found.fast[0.0] == 0.5
    assert found.fast[1.0] == 0.0  # as fast is not faster
    assert found.geomean_correct == pytest.approx(0.5)


def test_an_empty_suite_has_no_figures() -> None:
    for suite in ((), (outcome(1, "unfair"),)):
        found = summarize(suite)
        assert found.pass_rate is None
        assert (found.eager.fast, found.eager.geomean_all) == ({}, None)


@given(SPEEDUPS)
def test_fast_p_falls_with_p_and_begins_at_the_pass_rate(speedups: list[float | None]) -> None:
    found = scores("x", speedups)
    shares = [found.fast[p] for p in THRESHOLDS]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == found.correct / found.problems


@given(SPEEDUPS)
def test_a_failure_pulls_the_mean_towards_one(speedups: list[float | None]) -> None:
    found = scores("x", speedups)
    assert found.geomean_all is not None
    if found.geomean_correct is None:
        assert found.geomean_all == 1.0
    else:
        near = abs(math.log(found.geomean_all))
        assert near <= abs(math.log(found.geomean_correct)) + 1e-9


@pytest.mark.parametrize("status", ["failed", "error"])
def test_only_what_is_correct_has_a_speedup(status: Literal["failed", "error"]) -> None:
    found = summarize([outcome(1, status, eager=5.0, compiled=5.0)])
    assert found.eager.correct == found.compiled.correct == 0


def test_a_changed_outcome_is_named_and_one_without_a_checksum_is_read(tmp_path: Path) -> None:
    folder, kept = SuiteFolder(tmp_path), outcome(1, eager=2.0)
    folder.keep(kept)
    path = tmp_path / "outcomes" / f"{kept.key}.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "name": "1/9"}))
    with pytest.raises(InputError, match=r"its content was changed .*delete it to conclude again"):
        folder.outcome(kept.key)
    del written["checksum"]
    path.write_text(json.dumps(written))
    assert folder.outcome(kept.key) == kept
