"""A timing in words and rows: its resolution, and each of several timed workloads."""

from __future__ import annotations

from typing import Any

from mcts.domain import Timing
from mcts.domain.evaluation import ShapeTiming


def resolution_words(detectable: float) -> str:
    return f"smallest difference this run can resolve: {100 * detectable:.2f} %"


def shapes_json(timing: Timing | None) -> list[dict[str, Any]]:
    """A row of each shape, times in microseconds; empty where one workload alone was timed."""
    return [_row(shape) for shape in timing.shapes] if timing else []


def shape_lines(timing: Timing) -> list[str]:
    """``main (weight 0.75): 40.1 us, 1.203x (1.201 to 1.205)``, and where it is slower than was."""
    return [
        f"{shape.workload} (weight {shape.weight:.3g}): {shape.median_us:.2f} us, "
        f"{shape.speedup:.3f}x ({shape.speedup_low:.3f} to {shape.speedup_high:.3f})"
        + (", slower than the baseline" if shape.regressed else "")
        for shape in timing.shapes
    ]


def _row(shape: ShapeTiming) -> dict[str, Any]:
    return {
        "workload": shape.workload,
        "weight": shape.weight,
        "time_us": shape.median_us,
        "low_us": shape.low_us,
        "high_us": shape.high_us,
        "baseline_us": shape.baseline_us,
        "speedup": shape.speedup,
        "speedup_low": shape.speedup_low,
        "speedup_high": shape.speedup_high,
        "regressed": shape.regressed,
    }
