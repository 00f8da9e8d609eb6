"""Plots of a study: nothing runs over the border."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from experiments.benchmarks.studies.comparing import Contest
from experiments.benchmarks.studies.svg import WIDTH, colours, forest_svg

LETTER = 7.2


def contest(low: float, high: float) -> Contest:
    return Contest(
        arm="greedy", measure="20", ratio=(low * high) ** 0.5, low=low, high=high, low_here=low,
        high_here=high, p=0.5, p_holm=0.5, p_tasks=0.5, smallest_p_tasks=0.1, effect=0.0, wins=1,
        ties=1, losses=1, pairs=3, detectable=None,
    )  # fmt: skip


@example(low=0.999, width=1.00205)
@given(low=st.floats(0.2, 1.0), width=st.floats(1.0001, 1.01) | st.floats(1.01, 40.0))
def test_labels_below_a_forest_stay_within_the_picture(low: float, width: float) -> None:
    drawn = forest_svg([contest(low, low * width)], "all tasks", colours(["greedy"]))
    labels = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]+)<', drawn)
    assert labels
    for x, words in labels:
        assert float(x) + LETTER * len(words) / 2 <= WIDTH + 0.1
