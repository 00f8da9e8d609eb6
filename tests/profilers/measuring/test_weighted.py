"""The weighted latency of several shapes: what it is, and that its interval covers it.

The simulated noise is that of `test_coverage`, and the drift goes on over all shapes, which take
turns as they do on a device.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from mcts.statistics import Interval, median_blocked, speedup_blocked
from profilers.measuring.weighted import (
    BETWEEN_MOMENTS,
    Apart,
    Samples,
    weighted_apart,
    weighted_blocked,
    weighted_unpaired,
)
from tests.profilers.measuring.test_coverage import NOISES, Noise, covered, placed, steady

REPLICATIONS = 1000
Shape = tuple[float, float, float, int]
"""Weight, baseline's and candidate's microseconds, rounds in a block."""
SAME: list[Shape] = [(0.75, 100, 100, 4), (0.25, 40, 40, 4)]
MIXED: list[Shape] = [(0.5, 100, 50, 4), (0.3, 20, 40, 4), (0.2, 400, 200, 1)]
SHIFTED: list[Shape] = [(0.5, 100, 50, 4), (0.5, 20, 400, 4)]
"""The shape that is most of the baseline's latency is little of the candidate's."""


def simulated(
    random: np.random.Generator, noise: Noise, shapes: list[Shape], blocks: int = 6
) -> list[Samples]:
    rounds = sum(shape[3] for shape in shapes)
    walk = np.cumsum(random.normal(0, 0.01, blocks * rounds)).reshape(blocks, rounds)
    found, at = [], 0
    for weight, before, after, count in shapes:
        shared = walk[:, at : at + count]
        at += count
        times = [us * np.exp(noise(random, blocks, count) + shared) for us in (before, after)]
        found.append(Samples(weight, *times))
    return found


@pytest.mark.parametrize(
    ("noise", "shapes"),
    [*((noise, MIXED) for noise in NOISES), (placed, SAME), (steady, SHIFTED), (placed, SHIFTED)],
)
def test_the_interval_of_the_speedup_covers_it(noise: Noise, shapes: list[Shape]) -> None:
    random = np.random.default_rng(31)
    before = math.fsum(weight * us for weight, us, _, _ in shapes)
    truth = before / math.fsum(weight * us for weight, _, us, _ in shapes)
    found = covered(
        truth,
        lambda seed: weighted_blocked(simulated(random, noise, shapes), seed).speedup,
        REPLICATIONS,
    )
    assert found >= 0.93


def test_the_interval_of_the_latency_covers_it() -> None:
    random = np.random.default_rng(32)

    def interval(seed: int) -> Interval:
        shapes = [
            Samples(weight, *(us * np.exp(placed(random, 6, 4)) for us in times))
            for weight, *times, _ in MIXED
        ]
        return weighted_blocked(shapes, seed).candidate

    assert covered(0.5 * 50 + 0.3 * 40 + 0.2 * 200, interval, REPLICATIONS) >= 0.93


def test_separate_measurements_are_covered_too() -> None:
    random = np.random.default_rng(33)

    def interval(seed: int) -> Interval:
        shapes = [
            Samples(w, *([(us * np.exp(random.normal(0, 0.02, 31))).tolist()] for us in times))
            for w, *times, _ in MIXED
        ]
        return weighted_unpaired(shapes, seed).speedup

    assert covered(136 / 77, interval, trials=600) >= 0.92


@pytest.mark.parametrize(
    ("noise", "shapes"),
    [*((noise, MIXED) for noise in NOISES), (placed, SAME), (steady, SHIFTED), (placed, SHIFTED)],
)
def test_shapes_that_were_timed_one_after_the_other_are_covered(
    noise: Noise, shapes: list[Shape]
) -> None:
    """Each at another moment, whose clocks both programs share."""
    random = np.random.default_rng(37)
    before = math.fsum(weight * us for weight, us, _, _ in shapes)
    truth = before / math.fsum(weight * us for weight, _, us, _ in shapes)

    def interval(seed: int) -> Interval:
        found = []
        for weight, *times, count in shapes:
            moment = random.normal(0, BETWEEN_MOMENTS / 2)
            one, other = (us * np.exp(noise(random, 6, count) + moment) for us in times)
            found.append(
                Apart(
                    weight,
                    baseline=median_blocked(one, seed),
                    candidate=median_blocked(other, seed),
                    speedup=speedup_blocked(one, other, seed),
                )
            )
        return weighted_apart(found).speedup

    assert covered(truth, interval, REPLICATIONS) >= 0.93


def test_the_latency_is_the_sum_of_weight_times_time() -> None:
    shapes = [Samples(0.75, [[200.0] * 4] * 6, [[100.0] * 4] * 6),
              Samples(0.25, [[20.0] * 4] * 6, [[40.0] * 4] * 6)]  # fmt: skip
    for found in (weighted_blocked(shapes, 0), weighted_unpaired(shapes, 0)):
        assert found.candidate == pytest.approx((85, 85, 85))
        assert found.baseline_us == pytest.approx(155)
        assert found.speedup == pytest.approx((155 / 85,) * 3)
    assert weighted_blocked(shapes, 0).detectable == pytest.approx(0)


def test_one_shape_alone_is_the_unweighted_interval() -> None:
    random = np.random.default_rng(1)
    before, after = (100 * np.exp(random.normal(0, 0.02, (2, 6, 1)))).tolist()
    found = weighted_blocked([Samples(1.0, before, after)], 0)
    assert found.candidate == pytest.approx(median_blocked(after, 0))
    assert found.speedup == pytest.approx(speedup_blocked(before, after, 0))


def test_a_drift_that_all_shapes_share_cancels() -> None:
    drift = np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.2, 6)))[:, None]
    shapes = [Samples(0.5, 100 * drift, 50 * drift), Samples(0.5, 20 * drift, 400 * drift)]
    low, point, high = weighted_blocked(shapes, 0).speedup
    assert high - low < 1e-9 and point == pytest.approx(120 / 450)


def test_a_single_block_has_an_interval_and_no_detectable_effect() -> None:
    shapes = [Samples(0.5, [[2.0, 2.1, 1.9]], [[1.0, 1.1, 0.9]])] * 2
    found = weighted_blocked(shapes, 0)
    assert found.speedup.low < 2 < found.speedup.high and found.detectable is None


def test_shapes_have_as_many_blocks() -> None:
    with pytest.raises(ValueError, match="as many blocks"):
        weighted_blocked(
            [Samples(0.5, [[1.0]] * 2, [[1.0]] * 2), Samples(0.5, [[1.0]], [[1.0]])], 0
        )
