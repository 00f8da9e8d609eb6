"""The statistics of a study against worlds whose truth is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from experiments.benchmarks.studies.space import RecordedSpace, expected_best
from experiments.benchmarks.studies.statistics import (
    detectable,
    hierarchical,
    holm,
    signed_rank,
    within_tasks,
)

Floats = NDArray[np.float64]
SIMULATIONS = 300


def within(share: float, truth: float, *, repeats: int = SIMULATIONS) -> bool:
    """Whether a share seen in simulations is no more than 4 standard errors above the truth."""
    return share <= truth + 4 * math.sqrt(truth * (1 - truth) / repeats)


# The signed-rank test.


@pytest.mark.parametrize("count", [5, 12, 25])
def test_without_ties_it_is_the_exact_test_of_scipy(count: int) -> None:
    generator = np.random.default_rng(count)
    for _ in range(5):
        values = generator.normal(0.3, 1, count)
        assert signed_rank(values).p == pytest.approx(wilcoxon(values, method="exact").pvalue)


def test_with_ties_it_is_the_count_over_all_signs() -> None:
    values = np.array([0.0, 1.0, 1.0, -1.0, 2.0, 2.0, -3.0, 0.0, 4.0])
    # Ranks of the absolute values: two zeros hold 1 and 2 and are dropped (Pratt).
    ranks = np.array([4, 4, 4, 6.5, 6.5, 8, 9])
    seen = 4 + 4 + 6.5 + 6.5 + 9
    sums = [ranks @ np.array(signs) for signs in itertools.product((0, 1), repeat=7)]
    expected = 2 * np.mean([total >= seen for total in sums])
    assert signed_rank(values).p == pytest.approx(min(1.0, expected))


def test_many_pairs_agree_with_the_normal_approximation() -> None:
    values = np.random.default_rng(1).normal(0.1, 1, 360)
    approximate = wilcoxon(values, method="approx").pvalue
    assert signed_rank(values).p == pytest.approx(approximate, rel=0.05)


def test_effect_runs_from_minus_one_to_one_and_signs_are_kept() -> None:
    assert signed_rank([1.0, 2.0, 3.0]).effect == 1.0
    assert signed_rank([-1.0, -2.0, -3.0]).effect == -1.0
    assert signed_rank([1.0, -1.0]).effect == 0.0


def test_no_difference_at_all_is_no_evidence() -> None:
    found = signed_rank(np.zeros(20))
    assert (found.p, found.effect, found.pairs) == (1.0, 0.0, 0)


def test_the_smallest_p_is_what_all_pairs_the_same_way_give() -> None:
    found = signed_rank([0.5, 1.0, 1.5, 2.0, 0.0])
    assert found.p == pytest.approx(found.smallest_p)
    assert found.smallest_p == pytest.approx(2**-3)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_swapping_the_arms_mirrors_the_answer(differences: list[int]) -> None:
    values = np.array(differences, dtype=np.float64)
    one, other = signed_rank(values), signed_rank(-values)
    assert one.p == pytest.approx(other.p)
    assert one.effect == pytest.approx(-other.effect)
    assert 0 < one.p <= 1


def null_family(generator: np.random.Generator, comparisons: int) -> list[float]:
    """Arms that do not differ, on 3 tasks of very different spread, with many exact ties."""
    p_values = []
    for _ in range(comparisons):
        tasks = [
            np.round(generator.normal(0, spread, 10) * generator.choice([1, 3], 10), 1)
            for spread in (0.1, 0.5, 2.0)
        ]
        p_values.append(signed_rank(np.concatenate(tasks)).p)
    return p_values


def test_under_the_null_false_alarms_are_as_rare_as_said() -> None:
    generator = np.random.default_rng(7)
    single, family = 0, 0
    for _ in range(SIMULATIONS):
        p_values = null_family(generator, 6)
        single += p_values[0] < 0.05
        family += min(holm(p_values)) < 0.05
    assert within(single / SIMULATIONS, 0.05)
    assert within(family / SIMULATIONS, 0.05)


def test_without_correction_a_family_raises_false_alarms() -> None:
    """What Holm is for: the test above is able to fail."""
    generator = np.random.default_rng(7)
    alarms = sum(min(null_family(generator, 6)) < 0.05 for _ in range(SIMULATIONS))
    assert not within(alarms / SIMULATIONS, 0.05)


def test_pairing_sees_what_unpaired_spread_hides() -> None:
    generator = np.random.default_rng(3)
    luck = generator.normal(0, 1.0, 30)
    one, other = luck + generator.normal(0.1, 0.05, 30), luck + generator.normal(0, 0.05, 30)
    assert signed_rank(one - other).p < 1e-4
    assert signed_rank(one - generator.permutation(other)).p > 0.05


# Holm.


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_order_and_begins_with_bonferroni(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(raw <= p <= 1 for raw, p in zip(p_values, corrected, strict=True))
    assert min(corrected) == pytest.approx(min(1.0, len(p_values) * min(p_values)))
    ranked = sorted(zip(p_values, corrected, strict=True))
    assert all(a[1] <= b[1] for a, b in itertools.pairwise(ranked))


# Intervals.


def nested(generator: np.random.Generator, *, tasks: int, between: float) -> list[Floats]:
    """Differences with the true mean 0.2 over tasks, which differ by `between`."""
    return [
        generator.normal(mean, spread, 12)
        for mean, spread in zip(
            generator.normal(0.2, between, tasks), generator.uniform(0.05, 0.4, tasks), strict=True
        )
    ]


def test_the_hierarchical_interval_covers_the_mean_over_tasks() -> None:
    generator = np.random.default_rng(11)
    hits = 0
    for at in range(SIMULATIONS):
        spread = hierarchical(nested(generator, tasks=12, between=0.3), seed=at)
        hits += spread.low <= 0.2 <= spread.high
    # Percentile intervals over a dozen tasks are known to cover a little less than they say.
    assert 0.88 <= hits / SIMULATIONS <= 0.99


def test_the_interval_within_tasks_covers_the_mean_of_these_tasks() -> None:
    generator = np.random.default_rng(12)
    hits = 0
    for at in range(SIMULATIONS):
        means = generator.normal(0.2, 0.5, 3)
        values = [generator.normal(mean, 0.3, 30) for mean in means]
        spread = within_tasks(values, seed=at)
        hits += spread.low <= means.mean() <= spread.high
    assert 0.90 <= hits / SIMULATIONS <= 0.98


def test_seeds_alone_would_be_too_sure_of_other_tasks() -> None:
    values = nested(np.random.default_rng(5), tasks=8, between=1.0)
    wide, narrow = hierarchical(values, seed=1), within_tasks(values, seed=1)
    assert wide.mean == narrow.mean
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


def test_every_task_weighs_the_same_however_many_seeds_it_has() -> None:
    spread = hierarchical([np.full(30, 1.0), np.full(3, 0.0)], seed=1)
    assert spread.mean == pytest.approx(0.5)
    assert (spread.low, spread.high) == pytest.approx((0.0, 1.0))


def test_the_same_seed_gives_the_same_interval() -> None:
    values = nested(np.random.default_rng(5), tasks=3, between=0.3)
    assert hierarchical(values, seed=4) == hierarchical(values, seed=4)


# Power.


def test_a_detectable_effect_is_detected() -> None:
    generator = np.random.default_rng(21)
    pilot = [generator.normal(0, 0.1, 20) for _ in range(3)]
    ratio = detectable(pilot, alpha=0.05, seed=1)
    assert ratio is not None
    found = sum(
        signed_rank(generator.normal(math.log(ratio), 0.1, 60)).p < 0.05 for _ in range(SIMULATIONS)
    )
    assert found / SIMULATIONS > 0.7
    missed = sum(
        signed_rank(generator.normal(math.log(ratio) / 4, 0.1, 60)).p < 0.05
        for _ in range(SIMULATIONS)
    )
    assert missed / SIMULATIONS < 0.5


def test_nothing_within_the_noise_is_said_to_be_seen() -> None:
    generator = np.random.default_rng(24)
    noise = math.log1p(0.01)
    still = [np.zeros(12) for _ in range(3)]
    assert detectable(still, alpha=0.05, seed=1) == 1.005
    assert detectable(still, alpha=0.05, seed=1, noise=noise) == 1.02
    pilot = [generator.normal(0, 0.008, 12) for _ in range(3)]
    ratio = detectable(pilot, alpha=0.05, seed=1, noise=noise)
    assert ratio is not None

    def found(shift: float) -> bool:
        values = generator.normal(shift, 0.008, 36)
        return signed_rank(np.where(np.abs(values) <= noise, 0.0, values)).p < 0.05

    assert np.mean([found(math.log(ratio)) for _ in range(SIMULATIONS)]) > 0.7


def test_more_seeds_see_less_and_a_stricter_test_more() -> None:
    generator = np.random.default_rng(22)
    few = [generator.normal(0, 0.3, 8) for _ in range(3)]
    many = [np.concatenate([values] * 8) for values in few]
    seen = detectable(few, alpha=0.05, seed=1), detectable(many, alpha=0.05, seed=1)
    assert seen[0] is not None and seen[1] is not None and seen[1] < seen[0]
    strict = detectable(many, alpha=0.0005, seed=1)
    assert strict is not None and strict >= seen[1]


def test_with_one_value_a_task_the_differences_of_tasks_are_the_spread() -> None:
    """Each task's mean is its only value then: less it, nothing of the spread would be left."""
    generator = np.random.default_rng(23)
    alone = [generator.normal(0.1, 0.3, 1) for _ in range(12)]
    together = [np.concatenate(alone)]
    seen = detectable(alone, alpha=0.05, seed=1)
    assert seen == detectable(together, alpha=0.05, seed=1)
    assert seen is not None and seen > 1.1


def test_too_few_pairs_see_nothing() -> None:
    assert detectable([np.array([0.1, 0.2, 0.3])], alpha=0.05, seed=1) is None


# The recorded_task.


@pytest.mark.parametrize("failed", [0, 3])
def test_expected_best_is_the_average_over_all_draws(failed: int) -> None:
    times = [3.0, 1.0, 7.0, 4.0]
    draws = [*times, *[math.inf] * failed]
    for count in range(1, len(draws) + 1):
        bests = [min(draw) for draw in itertools.combinations(draws, count)]
        seen = [best for best in bests if best < math.inf]
        assert expected_best(times, failed)[count - 1] == pytest.approx(np.mean(seen))


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=50), st.integers(0, 20))
def test_expected_best_falls_to_the_optimum(times: list[float], failed: int) -> None:
    best = expected_best(times, failed)
    assert len(best) == len(times) + failed
    assert best[-1] == pytest.approx(min(times))
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(best)) or failed
    space = RecordedSpace(times_us=tuple(times), failed=failed, baseline_us=max(times))
    assert space.optimum_us <= space.target_us <= space.median_us
    budget = space.random_budget
    assert 1 <= budget <= len(best)
    assert best[budget - 1] <= space.target_us


def test_a_hard_space_gets_a_larger_budget() -> None:
    easy = RecordedSpace(times_us=tuple([1.0] * 50 + [2.0] * 60), failed=0, baseline_us=2.0)
    hard = RecordedSpace(times_us=tuple([1.0] * 1 + [2.0] * 109), failed=0, baseline_us=2.0)
    assert easy.random_budget < 10 < 100 < hard.random_budget
