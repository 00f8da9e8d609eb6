"""Ending near the least time of a task's traffic."""

from __future__ import annotations

from typing import Any

import pytest

from mcts.domain import AxisGap, Roofline
from mcts.loop.ceiling import Ceiling
from tests.support.evaluations import measured

BASELINE = measured(1.0)
BASELINE_US = BASELINE.timing.median_us if BASELINE.timing else 0.0


def roofline(**changed: Any) -> Roofline:
    """Of a task whose traffic allows a speedup of 8."""
    return Roofline(
        **{
            "bound": "memory",
            "confidence": 1.0,
            "gap": AxisGap(compute=0.9, memory=0.9, latency=0.5),
            "near_peak": False,
            "method_budget": {},
            "intensity_flop_per_byte": 1.0,
            "ridge_flop_per_byte": 16.0,
            "speed_of_light_us": BASELINE_US / 8,
            **changed,
        }
    )


def ceiling(share: float | None = 0.1, *, objective: Any = "time", **changed: Any) -> Ceiling:
    return Ceiling.of(BASELINE, roofline(**changed), objective=objective, share=share)


@pytest.mark.parametrize(
    ("best", "ends"),
    [(1.0, False), (7.2, False), (7.3, True), (8.3, True), (8.5, False)],
)
def test_a_run_ends_from_the_share_on_but_not_where_the_bound_was_beaten(
    best: float, ends: bool
) -> None:
    reason = ceiling().reached(best)
    assert reason == (
        "within 10 % of the time that moving inputs and outputs takes (--stop-within)"
        if ends
        else None
    )


@pytest.mark.parametrize(
    "other",
    [
        {"share": None},
        {"objective": "edp"},
        {"intensity_flop_per_byte": 20.0},
        {"intensity_flop_per_byte": None},
        {"ridge_flop_per_byte": None},
        {"speed_of_light_us": None},
    ],
    ids=lambda other: next(iter(other)),
)
def test_nothing_ends_where_traffic_is_not_known_to_bound_the_time(other: dict[str, Any]) -> None:
    assert ceiling(**other).reached(8.0) is None
    assert Ceiling.of(BASELINE, None, objective="time", share=0.1).reached(8.0) is None


def test_a_baseline_that_is_there_already_leaves_nothing_to_do() -> None:
    assert ceiling(speed_of_light_us=BASELINE_US).reached(1.0) is not None
