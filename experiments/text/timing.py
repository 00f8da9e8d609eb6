"""A timing in words: its resolution, and each of several timed workloads."""

from __future__ import annotations

from mcts.domain import Timing


def resolution_words(detectable: float) -> str:
    return f"smallest difference this run can resolve: {100 * detectable:.2f} %"


def shape_lines(timing: Timing) -> list[str]:
    """``main (weight 0.75): 40.1 us, 1.203x (1.201 to 1.205)``, and where it is slower than was."""
    return [
        f"{shape.workload} (weight {shape.weight:.3g}): {shape.median_us:.2f} us, "
        f"{shape.speedup:.3f}x ({shape.speedup_low:.3f} to {shape.speedup_high:.3f})"
        + (", slower than the baseline" if shape.regressed else "")
        for shape in timing.shapes
    ]
