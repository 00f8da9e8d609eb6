"""Measured evaluations of a given speedup, where how it came about is not the point of a test."""

from __future__ import annotations

from typing import Any

from mcts.domain import Evaluation, Timing, Verification


def times(speedup: float, *, spread: float = 0.01) -> dict[str, Any]:
    """The fields of a timing, over a baseline of 100 us; intervals reach `spread` either way."""
    return {
        "median_us": 100 / speedup,
        "low_us": 100 / speedup * (1 - spread),
        "high_us": 100 / speedup * (1 + spread),
        "baseline_us": 100,
        "speedup": speedup,
        "speedup_low": speedup * (1 - spread),
        "speedup_high": speedup * (1 + spread),
        "rounds": 20,
    }


def measured(speedup: float, *, spread: float = 0.01, name: str = "c") -> Evaluation:
    return Evaluation(
        candidate_id=name,
        status="measured",
        verification=Verification(passed=True, rounds=1),
        timing=Timing(**times(speedup, spread=spread)),
    )
