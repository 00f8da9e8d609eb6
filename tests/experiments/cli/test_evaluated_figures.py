"""What `evaluate` says below its table and in its JSON of the least time and the SOL score."""

from __future__ import annotations

import pytest

from experiments.cli.commands.judge import _remarks, row_of
from mcts.domain import Candidate, Evaluation
from tests.support import evaluations

CANDIDATE = Candidate(source="__global__ void f() {}")


def judged(speedup: float, least_share: float | None) -> Evaluation:
    found = evaluations.measured(speedup, name="mine")
    assert found.timing is not None
    least = None if least_share is None else least_share * found.timing.baseline_us
    return found.model_copy(update={"timing": found.timing.model_copy(update={"least_us": least})})


@pytest.mark.parametrize(
    ("speedup", "least_share", "said"),
    [
        (2.0, 0.2, "mine.py: SOL score 0.73 (1 at the least time by the roofline, 20 us, 0.5 at"),
        (8.0, 0.2, "the estimate is beaten)"),
        (2.0, None, None),
    ],
)
def test_the_score_is_told_where_the_least_time_is_known(
    speedup: float, least_share: float | None, said: str | None
) -> None:
    found = judged(speedup, least_share)
    lines = _remarks([("mine.py", CANDIDATE, found)], None)
    scores = [line for line in lines if "SOL score" in line]
    assert (said in scores[0]) if said is not None else not scores
    row = row_of("mine.py", CANDIDATE, found, over=None)
    assert (row["sol_score"] is None) is (least_share is None)
    assert found.timing is not None and row["least_us"] == found.timing.least_us
