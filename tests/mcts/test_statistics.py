"""Intervals contain their point, cover the truth about as often as they say, and repeat."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcts.statistics import (
    blocked_half_width,
    detectable_effect,
    median_blocked,
    median_interval,
    speedup_blocked,
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


@pytest.mark.parametrize("bad", [[], [0.0], [1.0, math.nan], [math.inf], [-1.0]])
def test_invalid_times_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError):
        median_interval(bad, 0)


def test_pairs_must_match() -> None:
    with pytest.raises(ValueError, match="rounds"):
        speedup_paired([1.0, 2.0], [1.0], 0)


blocks = st.lists(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=6), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(blocks, st.integers(0, 2**32))
def test_intervals_of_blocks_are_ordered(samples: list[list[float]], seed: int) -> None:
    for interval in (median_blocked(samples, seed), speedup_blocked(samples, samples, seed)):
        assert interval.low <= interval.point <= interval.high


def test_a_speedup_in_blocks_is_the_mean_of_the_blocks_medians() -> None:
    before = [[200.0, 200.0, 900.0], [400.0, 400.0, 400.0]]
    after = [[100.0, 100.0, 100.0], [100.0, 100.0, 100.0]]
    low, point, high = speedup_blocked(before, after, 0)
    assert point == pytest.approx(math.sqrt(8))
    # Student's t with one degree of freedom: 12.7 standard errors of log 2 / 2.
    assert math.log(high / point) == pytest.approx(12.706 * math.log(2) / 2, rel=1e-3)
    assert low * high == pytest.approx(point**2)
    assert median_blocked(after, 0).point == pytest.approx(100)


def test_a_difference_between_blocks_widens_what_rounds_alone_would_not() -> None:
    generator = np.random.default_rng(2)
    rounds = generator.normal(0, 0.001, (6, 4))
    offsets = generator.normal(0, 0.02, (6, 1))
    same = [[100.0] * 4] * 6
    still = speedup_blocked(same, np.exp(rounds).tolist(), 0)
    moved = speedup_blocked(same, np.exp(rounds + offsets).tolist(), 0)
    assert moved.high / moved.low > 1 + 5 * (still.high / still.low - 1)


def test_the_detectable_effect_follows_from_the_spread_between_blocks() -> None:
    same = [[1.0]] * 4
    after = [[math.exp(x)] for x in (0.0, 0.02, 0.0, 0.02)]
    spread = math.sqrt(4 * 0.01**2 / 3)
    effect = detectable_effect(same, after)
    assert effect == pytest.approx(math.expm1(2.8 * spread / 2))
    assert detectable_effect(same[:1], same[:1]) is None


def test_the_half_width_of_blocks_shrinks_with_them() -> None:
    generator = np.random.default_rng(0)
    assert blocked_half_width([[1.0] * 9]) == math.inf
    assert blocked_half_width([[1.0] * 4] * 3) == 0
    few = blocked_half_width(np.exp(generator.normal(0, 0.01, (6, 4))).tolist())
    many = blocked_half_width(np.exp(generator.normal(0, 0.01, (60, 4))).tolist())
    assert 0 < many < few < 0.05


def test_blocks_must_match() -> None:
    with pytest.raises(ValueError, match="blocks"):
        speedup_blocked([[1.0]] * 2, [[1.0]] * 3, 0)
    with pytest.raises(ValueError, match="rounds"):
        speedup_blocked([[1.0], [1.0]], [[1.0], [1.0, 2.0]], 0)
    with pytest.raises(ValueError, match="block"):
        speedup_blocked([], [], 0)
