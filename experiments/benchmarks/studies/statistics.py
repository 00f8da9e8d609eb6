"""The statistics of paired runs: exact signed-rank test, Holm's correction, bootstrap, power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

Floats = NDArray[np.float64]
RESAMPLES = 2000
_TAIL = 2.5
MOST_EXACT = 1000
"""Beyond so many pairs that differ a p-value is of the normal approximation: convolving all ranks
takes the cube of their number, and the approximation is good long before."""
FEW_TASKS = 6
"""Below so many tasks an interval over tasks covers less than it says: 3 tasks can be resampled in
10 ways only."""
WANTED_POWER = 0.8
"""Share of studies that should find a difference that is there (Cohen 1988)."""
WOULD_SEE = (
    "Would see: the smallest ratio that so many pairs with this spread would show in 4 of 5 "
    "comparisons."
)
"""How to read `detectable` in a table."""
_REPEATS = 200
_ROUNDING = 1e-12
_FEW_VALUES = 3
_RATIOS = (
    1.005, 1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.25, 1.35, 1.5, 1.75, 2.0, 3.0, 5.0,
)  # fmt: skip


class SignedRank(NamedTuple):
    """p: two-sided. effect: matched-pairs rank-biserial correlation, from -1 to 1. pairs: those
    that differ. smallest_p: what p would be had all of them differed the same way.
    """

    p: float
    effect: float
    pairs: int
    smallest_p: float


def signed_rank(differences: Sequence[float] | Floats) -> SignedRank:
    """Test whether differences of pairs are as likely to be positive as negative.

    Wilcoxon, Individual Comparisons by Ranking Methods (1945), with zeros ranked and then dropped
    (Pratt, Remarks on Zeros and Ties in the Wilcoxon Signed Rank Procedures, JASA 54, 1959) and
    tied ranks averaged. p is exact given the ranks: every pair's sign is flipped with probability
    1/2, and the distribution of the sum is convolved rank by rank, so that neither ties nor few
    pairs need an approximation; only more than `MOST_EXACT` pairs get one. The effect is
    (W+ - W-) / (W+ + W-) (Kerby, The Simple Difference Formula, Comprehensive Psychology 3, 2014).
    Without a difference p is 1 and the effect 0.
    """
    values = np.asarray(differences, dtype=np.float64)
    # Averaged ranks are halves, so that twice the rank is whole.
    doubled = np.rint(2 * rankdata(np.abs(values))).astype(np.int64)
    doubled, signs = doubled[values != 0], np.sign(values[values != 0])
    if not len(doubled):
        return SignedRank(1.0, 0.0, 0, 1.0)
    total, plus = int(doubled.sum()), int(doubled[signs > 0].sum())
    tail_of = _tail if len(doubled) <= MOST_EXACT else _normal_tail
    tail = tail_of(doubled, max(plus, total - plus))
    return SignedRank(
        p=min(1.0, 2 * tail),
        effect=(2 * plus - total) / total,
        pairs=len(doubled),
        smallest_p=min(1.0, 2.0 ** (1 - len(doubled))),
    )


def _tail(doubled: NDArray[np.int64], at_least: int) -> float:
    """P(sum of the ranks of positive pairs >= `at_least`) with every sign a fair coin."""
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    reach = 0
    for rank in np.sort(doubled).tolist():
        moved = chances[: reach + 1] / 2
        chances[: reach + 1] /= 2
        chances[rank : rank + reach + 1] += moved
        reach += rank
    return float(chances[at_least:].sum())


def _normal_tail(doubled: NDArray[np.int64], at_least: int) -> float:
    """The same by the normal distribution of that mean and variance."""
    deviation = math.sqrt(float((doubled.astype(np.float64) ** 2).sum())) / 2
    return float(norm.sf((at_least - doubled.sum() / 2) / deviation))


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values: the chance of any false alarm in the family stays below alpha.

    Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, floor = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = floor
    return corrected


class MeanInterval(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def hierarchical(by_task: Sequence[Floats], *, seed: int) -> MeanInterval:
    """The mean over tasks of the mean over seeds; tasks are resampled, then seeds within each.

    Percentile bootstrap of both levels (Davison and Hinkley, Bootstrap Methods and their
    Application, 1997, section 3.8): the interval is for tasks like these.
    """
    return _bootstrap(by_task, seed=seed, tasks_too=True)


def within_tasks(by_task: Sequence[Floats], *, seed: int) -> MeanInterval:
    """The same mean; only seeds are resampled: the interval is for these very tasks."""
    return _bootstrap(by_task, seed=seed, tasks_too=False)


def _bootstrap(by_task: Sequence[Floats], *, seed: int, tasks_too: bool) -> MeanInterval:
    generator = np.random.default_rng(seed)
    count = len(by_task)
    sizes = np.array([len(values) for values in by_task])
    table = np.zeros((count, sizes.max()))
    for at, values in enumerate(by_task):
        table[at, : len(values)] = values
    shape = (RESAMPLES, count)
    tasks = np.broadcast_to(np.arange(count), shape)
    if tasks_too:
        tasks = generator.integers(count, size=shape)
    total = np.zeros(RESAMPLES)
    for slot in range(count):
        # Every slot of a resample holds a task, and of that task as many seeds as it has.
        size = sizes[tasks[:, slot]]
        drawn = np.floor(generator.random((RESAMPLES, sizes.max())) * size[:, None]).astype(int)
        there = np.arange(sizes.max()) < size[:, None]
        picked = table[tasks[:, slot][:, None], drawn]
        total += np.where(there, picked, 0.0).sum(axis=1) / size
    mean = float(np.mean([values.mean() for values in by_task]))
    low, high = np.percentile(total / count, [_TAIL, 100 - _TAIL])
    return MeanInterval(mean, min(mean, float(low)), max(mean, float(high)))


def detectable(
    by_task: Sequence[Floats], *, alpha: float, seed: int, noise: float = 0.0
) -> float | None:
    """The smallest ratio that a study with this spread would find in 80 % of repeats.

    By simulation: the observed log differences, less each task's mean, are resampled within their
    tasks and moved by the log of a ratio, which is beyond `noise`, a log as well; those within it
    are ties, and the signed-rank test at `alpha` is taken. Where a
    task has fewer than three values, which tell no spread of its own, all are resampled together,
    less the mean of all: how tasks differ is part of the spread then. Returns None if not even a
    ratio of 5 would be found. `alpha` is what Holm leaves to the smallest p-value of the family,
    which is the cautious choice.
    """
    generator = np.random.default_rng(seed)
    if min(len(values) for values in by_task) < _FEW_VALUES:
        by_task = [np.concatenate(by_task)]
    centred = [values - values.mean() for values in by_task]
    drawn = np.concatenate(
        [generator.choice(values, size=(_REPEATS, len(values))) for values in centred], axis=1
    )
    if 2.0 ** (1 - drawn.shape[1]) > alpha:
        return None
    seen = [ratio for ratio in _RATIOS if math.log(ratio) > noise + _ROUNDING]
    low, high = 0, len(seen)
    while low < high:
        middle = (low + high) // 2
        moved = drawn + math.log(seen[middle])
        if _power(np.where(np.abs(moved) <= noise + _ROUNDING, 0.0, moved), alpha) >= WANTED_POWER:
            high = middle
        else:
            low = middle + 1
    return seen[low] if low < len(seen) else None


def _power(studies: Floats, alpha: float) -> float:
    """Share of the rows that the signed-rank test finds, by its normal approximation."""
    ranks = rankdata(np.abs(studies), axis=1)
    ranks[studies == 0] = 0
    spread = np.sqrt((ranks**2).sum(axis=1))
    score = (ranks * np.sign(studies)).sum(axis=1) / np.where(spread > 0, spread, np.inf)
    return float((score >= norm.ppf(1 - alpha / 2)).mean())
