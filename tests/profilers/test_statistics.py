"""Intervals contain their point, cover the truth about as often as they say, and repeat."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profilers.statistics import (
    median_interval,
    relative_half_width,
    speedup_paired,
    speedup_unpaired,
)

times = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(times, times, st.integers(0, 2**32))
def test_intervals_are_ordered(before: list[float], after: list[float], seed: int) -> None:
    both = min(len(before), len(after))
    for interval in (
        median_interval(after, seed),
        speedup_unpaired(before, after, seed),
        speedup_paired(before[:both], after[:both], seed),
    ):
        assert interval.low <= interval.point <= interval.high


def test_the_same_seed_gives_the_same_interval() -> None:
    samples = list(np.random.default_rng(1).lognormal(size=25))
    assert median_interval(samples, 5) == median_interval(samples, 5)
    assert median_interval(samples, 5) != median_interval(samples, 6)


def test_identical_samples_have_no_width() -> None:
    assert median_interval([3.0] * 12, 0) == (3.0, 3.0, 3.0)
    low, point, high = speedup_unpaired([6.0] * 12, [3.0] * 12, 0)
    assert low == pytest.approx(2) and point == pytest.approx(2) and high == pytest.approx(2)


def test_coverage_of_the_median_and_of_speedups() -> None:
    generator = np.random.default_rng(7)
    trials, hits, paired, unpaired = 200, 0, 0, 0
    for trial in range(trials):
        drift = generator.normal(0, 0.3, size=24)
        before = np.exp(math.log(200) + drift + generator.normal(0, 0.02, size=24))
        after = np.exp(math.log(100) + drift + generator.normal(0, 0.02, size=24))
        steady = np.exp(math.log(100) + generator.normal(0, 0.05, size=24))
        low, _, high = median_interval(list(steady), trial)
        hits += low <= 100 <= high
        low, _, high = speedup_paired(list(before), list(after), trial)
        paired += low <= 2 <= high
        low, _, high = speedup_unpaired(list(2 * steady[:12]), list(steady[12:]), trial)
        unpaired += low <= 2 <= high
    for count in (hits, paired, unpaired):
        assert 0.86 <= count / trials <= 1.0


def test_pairing_cancels_a_shared_drift() -> None:
    generator = np.random.default_rng(3)
    drift = np.exp(np.cumsum(generator.normal(0, 0.2, size=30)))
    before, after = list(200 * drift), list(100 * drift)
    paired, loose = speedup_paired(before, after, 0), speedup_unpaired(before, after, 0)
    assert paired.high - paired.low < 1e-9 < loose.high - loose.low


def test_half_width_shrinks_with_precision_and_needs_samples() -> None:
    generator = np.random.default_rng(0)
    assert relative_half_width([1.0] * 5) == math.inf
    assert relative_half_width([1.0] * 6) == 0
    few = relative_half_width(list(generator.normal(100, 1, size=12)))
    many = relative_half_width(list(generator.normal(100, 1, size=1000)))
    assert 0 < many < few < 0.02


@pytest.mark.parametrize("bad", [[], [0.0], [1.0, math.nan], [math.inf], [-1.0]])
def test_what_is_no_timing_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError):
        median_interval(bad, 0)


def test_pairs_must_match() -> None:
    with pytest.raises(ValueError, match="rounds"):
        speedup_paired([1.0, 2.0], [1.0], 0)
