"""The SOL score: how far a time has come from the baseline's to the least one."""

from __future__ import annotations

import pytest

from mcts.domain.evaluation import ShapeTiming, Timing
from tests.support import evaluations


def timed(speedup: float, least_share: float | None) -> Timing:
    """A timing whose least time is so many times its baseline's."""
    timing = evaluations.measured(speedup, name="c").timing
    assert timing is not None
    least = None if least_share is None else least_share * timing.baseline_us
    return timing.model_copy(update={"least_us": least})


@pytest.mark.parametrize(
    ("speedup", "least_share", "score"),
    [
        (1.0, 0.2, 0.5),
        (5.0, 0.2, 1.0),
        (2.0, 0.2, 0.8 / (0.8 + 0.3)),
        (0.5, 0.2, 0.8 / (0.8 + 1.8)),
        (8.0, 0.2, 0.8 / (0.8 + 0.125 - 0.2)),  # the estimate is beaten
        (100.0, 0.9, 0.1 / (0.1 / 1e3)),  # by more than the whole gap: no sign, no pole
        (2.0, None, None),
        (2.0, 1.0, None),
    ],
)
def test_the_score_is_anchored_at_the_baseline_and_at_the_least_time(
    speedup: float, least_share: float | None, score: float | None
) -> None:
    assert timed(speedup, least_share).sol_score == pytest.approx(score)


def test_the_score_of_several_workloads_is_by_weight_and_needs_them_all() -> None:
    whole = timed(2.0, 0.2)
    fields = {
        name: getattr(whole, name)
        for name in set(ShapeTiming.model_fields) & set(Timing.model_fields)
    }
    one, two = (
        ShapeTiming(**{**fields, "least_us": least}, workload=name, weight=weight)
        for name, weight, least in (
            ("a", 0.25, whole.median_us),
            ("b", 0.75, 0.5 * whole.median_us),
        )
    )
    both = whole.model_copy(update={"shapes": (one, two)})
    assert one.sol_score == pytest.approx(1.0)
    assert both.sol_score == pytest.approx(0.25 + 0.75 * (two.sol_score or 0.0))
    unknown = two.model_copy(update={"least_us": None})
    assert whole.model_copy(update={"shapes": (one, unknown)}).sol_score is None
