"""Medians and speedups with 95 % intervals, by seeded bootstrap.

Timings have long right tails, so the median is the summary; ratios are formed in logarithms, so
that "twice as fast" and "half as fast" lie equally far from one. Percentile bootstrap as in
Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
_TAIL = 2.5


class Interval(NamedTuple):
    """A point with its interval; always ``low <= point <= high``."""

    low: float
    point: float
    high: float


def median_interval(samples: Sequence[float], seed: int) -> Interval:
    """The median of `samples` and its 95 % interval; ValueError without samples."""
    values = _array(samples)
    return _interval(float(np.median(values)), _medians(values, np.random.default_rng(seed)))


def speedup_paired(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Interval:
    """Baseline over candidate time from rounds measured in pairs: the median of their ratios.

    Whole rounds are resampled, so that a drift which both members of a pair share cancels.
    ValueError unless both have the same number of positive samples.
    """
    before, after = _array(baseline), _array(candidate)
    if len(before) != len(after):
        raise ValueError(f"{len(before)} baseline rounds, {len(after)} of the candidate")
    logs = np.log(before) - np.log(after)
    return _exp(_interval(float(np.median(logs)), _medians(logs, np.random.default_rng(seed))))


def speedup_unpaired(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Interval:
    """Baseline over candidate time from separate measurements: the ratio of their medians."""
    before, after = np.log(_array(baseline)), np.log(_array(candidate))
    generator = np.random.default_rng(seed)
    point = float(np.median(before) - np.median(after))
    return _exp(_interval(point, _medians(before, generator) - _medians(after, generator)))


def relative_half_width(samples: Sequence[float]) -> float:
    """Half the width of the median's 95 % interval over the median, from order statistics.

    Cheap enough to ask after every round: the ranks come from the normal approximation to the
    binomial. Infinite below six samples.
    """
    count = len(samples)
    if count < 6:
        return math.inf
    ordered = sorted(samples)
    reach = 1.96 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach) - 1)
    return (ordered[high] - ordered[low]) / 2 / ordered[count // 2]


def _array(samples: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.size == 0 or not np.all(values > 0) or not np.all(np.isfinite(values)):
        raise ValueError("timings must be positive, finite and at least one")
    return values


def _medians(values: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    """Medians of bootstrap resamples, drawn from their exact distribution.

    A resample's k-th smallest value is the sample at the rank of the k-th order statistic of n
    uniforms, which is Beta(k, n - k + 1) (David & Nagaraja, Order Statistics, 2003, section 2.1):
    one or two draws per resample instead of n.
    """
    ordered = np.sort(values)
    count = len(ordered)
    rank = (count + 1) // 2
    lower = generator.beta(rank, count - rank + 1, RESAMPLES)
    if count % 2:
        return _at(ordered, lower)
    # Given the k-th, the next order statistic is the smallest of n - k uniforms above it.
    upper = 1 - (1 - lower) * generator.random(RESAMPLES) ** (1 / (count - rank))
    middle: NDArray[np.float64] = (_at(ordered, lower) + _at(ordered, upper)) / 2
    return middle


def _at(ordered: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The samples at the given shares of the way through."""
    last = len(ordered) - 1
    found: NDArray[np.float64] = ordered[np.minimum((share * len(ordered)).astype(np.intp), last)]
    return found


def _interval(point: float, resampled: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(resampled, [_TAIL, 100 - _TAIL])
    return Interval(min(float(low), point), point, max(float(high), point))


def _exp(interval: Interval) -> Interval:
    return Interval(*(math.exp(value) for value in interval))
