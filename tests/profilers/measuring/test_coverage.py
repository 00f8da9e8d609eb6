"""A against A, simulated: the 95 % interval of a speedup holds 1 about as often as it says.

The noise is that of a GPU's timings: within a block normal or with a long right tail, now and then
an outlier, an offset that lasts for a block and is each program's own (code and buffers placed
anew), a drift that both share. Rounds are in pairs, both members of one kind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from mcts.statistics import Interval, median_blocked, speedup_blocked
from profilers.measuring.blocks import TimingPlan, _precise

Logs = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Logs]
REPLICATIONS = 2000
"""So many that 93 % lies four standard errors below the 95 % that is claimed."""


def steady(random: np.random.Generator, blocks: int, rounds: int) -> Logs:
    return random.normal(0, 0.01, (blocks, rounds))


def placed(random: np.random.Generator, blocks: int, rounds: int) -> Logs:
    return steady(random, blocks, rounds) + random.normal(0, 0.02, (blocks, 1))


def tailed(random: np.random.Generator, blocks: int, rounds: int) -> Logs:
    return random.lognormal(-5, 1, (blocks, rounds)) + random.normal(0, 0.005, (blocks, 1))


def disturbed(random: np.random.Generator, blocks: int, rounds: int) -> Logs:
    hits = random.random((blocks, rounds)) < 0.1
    return placed(random, blocks, rounds) + hits * random.exponential(0.5, (blocks, rounds))


def bad_blocks(random: np.random.Generator, blocks: int, rounds: int) -> Logs:
    hits = random.random((blocks, 1)) < 0.15
    return placed(random, blocks, rounds) + hits * random.exponential(0.1, (blocks, 1))


def drift(random: np.random.Generator, blocks: int, rounds: int) -> Logs:
    """What both share: a walk of the clocks over the whole measurement."""
    return np.cumsum(random.normal(0, 0.01, blocks * rounds)).reshape(blocks, rounds)


def covered(truth: float, interval: Callable[[int], Interval], trials: int = REPLICATIONS) -> float:
    """The share of the intervals, each with a seed of its own, that hold `truth`."""
    found = (interval(seed) for seed in range(trials))
    return sum(low <= truth <= high for low, _, high in found) / trials


NOISES: list[Noise] = [steady, placed, tailed, disturbed, bad_blocks]


@pytest.mark.parametrize(
    ("noise", "shape"),
    [*((noise, (6, 4)) for noise in NOISES), (placed, (12, 4)), (tailed, (6, 2)), (placed, (5, 1))],
)
def test_a_against_a_is_one(noise: Noise, shape: tuple[int, int]) -> None:
    random = np.random.default_rng(20_240)

    def interval(seed: int) -> Interval:
        shared = drift(random, *shape)
        before = 100 * np.exp(noise(random, *shape) + shared)
        after = 100 * np.exp(noise(random, *shape) + shared)
        return speedup_blocked(before.tolist(), after.tolist(), seed)

    assert covered(1.0, interval) >= 0.93


def test_a_difference_is_where_it_is() -> None:
    random = np.random.default_rng(11)

    def interval(seed: int) -> Interval:
        before, after = (np.exp(placed(random, 6, 4)) for _ in range(2))
        return speedup_blocked((130 * before).tolist(), (100 * after).tolist(), seed)

    assert covered(1.3, interval) >= 0.93


def test_the_time_itself_is_covered() -> None:
    random = np.random.default_rng(12)
    found = covered(
        100, lambda seed: median_blocked((100 * np.exp(placed(random, 6, 4))).tolist(), seed)
    )
    assert found >= 0.93


def test_stopping_when_it_is_precise_costs_little_coverage() -> None:
    plan = TimingPlan(
        min_blocks=6, max_blocks=15, slow_blocks=5, rounds=4, half_width=0.01, budget_s=1, seed=0
    )
    random = np.random.default_rng(13)

    def interval(seed: int) -> Interval:
        blocks: list[dict[str, list[float]]] = []
        while len(blocks) < plan.max_blocks:
            pair = np.exp(random.normal(0, 0.01, (2, 4)) + random.normal(0, 0.01, (2, 1)))
            blocks.append({"baseline_us": pair[0].tolist(), "candidate_us": pair[1].tolist()})
            if len(blocks) >= plan.min_blocks and _precise(blocks, plan):
                break
        return speedup_blocked(
            [block["baseline_us"] for block in blocks],
            [block["candidate_us"] for block in blocks],
            seed,
        )

    assert covered(1.0, interval, trials=600) >= 0.91
