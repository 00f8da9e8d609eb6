"""Medians and speedups with 95 % intervals.

Timings have long right tails, so the median is the summary; ratios are formed in logarithms, so
that "twice as fast" and "half as fast" are equally far from one.

Rounds that were measured in blocks (with new places of code and buffers) vary within a block and
from one block to the next, and there are few blocks. So a block counts as one observation, its
median, and Student's t over the blocks gives the interval, as Kalibera & Jones, Rigorous
Benchmarking in Reasonable Time (ISMM 2013), section 6, do with the means of the highest level that
was repeated. A percentile bootstrap over six blocks covers less than it claims (Hesterberg, What
Teachers Should Know About the Bootstrap, The American Statistician 69, 2015, section 4.1); one that
also resamples the rounds within counts their spread twice.

Samples without blocks have a seeded percentile bootstrap, as in Efron & Tibshirani, An
Introduction to the Bootstrap (1993), chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
_TAIL = 2.5
_DETECTABLE = 1.96 + 0.84


class Interval(NamedTuple):
    """A point with its interval; always ``low <= point <= high``."""

    low: float
    point: float
    high: float


def median_interval(samples: Sequence[float], seed: int) -> Interval:
    """The median of `samples` and its 95 % interval; ValueError without samples."""
    values = as_times(samples)
    return percentile_interval(
        float(np.median(values)), resampled_medians(values, np.random.default_rng(seed))
    )


def speedup_paired(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Interval:
    """Baseline over candidate time from rounds measured in pairs: the median of their ratios.

    Whole rounds are resampled, so that a drift which both members of a pair share cancels.
    ValueError unless both have the same number of positive samples.
    """
    before, after = as_times(baseline), as_times(candidate)
    if len(before) != len(after):
        raise ValueError(f"{len(before)} baseline rounds, {len(after)} of the candidate")
    logs = np.log(before) - np.log(after)
    return exp_interval(
        percentile_interval(
            float(np.median(logs)), resampled_medians(logs, np.random.default_rng(seed))
        )
    )


def speedup_unpaired(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Interval:
    """Baseline over candidate time from separate measurements: the ratio of their medians."""
    before, after = np.log(as_times(baseline)), np.log(as_times(candidate))
    generator = np.random.default_rng(seed)
    point = float(np.median(before) - np.median(after))
    return exp_interval(
        percentile_interval(
            point, resampled_medians(before, generator) - resampled_medians(after, generator)
        )
    )


def median_blocked(blocks: Sequence[Sequence[float]], seed: int) -> Interval:
    """The typical time of samples in blocks: the geometric mean of the blocks' medians.

    A single block has the interval of its median. ValueError without samples in every block.
    """
    if len(blocks) == 1:
        return median_interval(blocks[0], seed)
    return exp_interval(
        student_interval(block_medians([np.log(as_times(block)) for block in blocks]))
    )


def speedup_blocked(
    baseline_blocks: Sequence[Sequence[float]],
    candidate_blocks: Sequence[Sequence[float]],
    seed: int,
) -> Interval:
    """Baseline over candidate time from blocks of paired rounds: mean of the blocks' medians.

    Ratios are formed within rounds and averaged in logarithms. A single block has the interval of
    `speedup_paired`, the only use of `seed`. ValueError unless both have the same rounds.
    """
    if len(baseline_blocks) == len(candidate_blocks) == 1:
        return speedup_paired(baseline_blocks[0], candidate_blocks[0], seed)
    return exp_interval(
        student_interval(block_medians(_log_ratios(baseline_blocks, candidate_blocks)))
    )


def widened(interval: Interval, *, relative: float) -> Interval:
    """`interval`, of a positive quantity, with an independent relative uncertainty added.

    Half-widths add in quadrature, in logarithms: the second is taken for 95 % as well.
    """
    low, point, high = (math.log(value) for value in interval)
    return exp_interval(
        Interval(
            point - math.hypot(point - low, relative),
            point,
            point + math.hypot(high - point, relative),
        )
    )


def detectable_effect(
    baseline_blocks: Sequence[Sequence[float]], candidate_blocks: Sequence[Sequence[float]]
) -> float | None:
    """The least relative difference that this number of blocks detects with 80 % power.

    2.8 standard errors: the quantiles of 5 % significance from both sides and of 80 % power, 1.96
    and 0.84 (Cohen, Statistical Power Analysis, 1988, chapter 2). None for fewer than two blocks.
    """
    return detectable(block_medians(_log_ratios(baseline_blocks, candidate_blocks)))


def detectable(logs: NDArray[np.float64]) -> float | None:
    """`detectable_effect` of observations in logarithms."""
    if len(logs) < 2:
        return None
    return math.expm1(_DETECTABLE * float(np.std(logs, ddof=1)) / math.sqrt(len(logs)))


def blocked_half_width(blocks: Sequence[Sequence[float]]) -> float:
    """Half the width of the interval of `median_blocked`, relative; infinite for one block."""
    if len(blocks) < 2:
        return math.inf
    low, point, high = student_interval(
        block_medians([np.log(as_times(block)) for block in blocks])
    )
    return math.expm1(max(high - point, point - low))


def _log_ratios(
    baseline_blocks: Sequence[Sequence[float]], candidate_blocks: Sequence[Sequence[float]]
) -> list[NDArray[np.float64]]:
    if len(baseline_blocks) != len(candidate_blocks):
        raise ValueError(
            f"{len(baseline_blocks)} baseline blocks, {len(candidate_blocks)} of the candidate"
        )
    ratios = []
    for before, after in zip(baseline_blocks, candidate_blocks, strict=True):
        if len(before) != len(after):
            raise ValueError(f"{len(before)} baseline rounds, {len(after)} of the candidate")
        ratios.append(np.log(as_times(before)) - np.log(as_times(after)))
    return ratios


def block_medians(blocks: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    if not blocks:
        raise ValueError("timings need at least one block")
    return np.array([np.median(block) for block in blocks])


def student_interval(values: NDArray[np.float64]) -> Interval:
    """Mean of at least two values and its 95 % interval by Student's t."""
    count = len(values)
    point = float(np.mean(values))
    reach = student_quantile(count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return Interval(point - reach, point, point + reach)


@lru_cache(maxsize=64)
def student_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(degrees, 0.975))


def as_times(samples: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.size == 0 or not np.all(values > 0) or not np.all(np.isfinite(values)):
        raise ValueError("timings must be positive, finite and at least one")
    return values


def resampled_medians(
    values: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
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


def percentile_interval(point: float, resampled: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(resampled, [_TAIL, 100 - _TAIL])
    return Interval(min(float(low), point), point, max(float(high), point))


def exp_interval(interval: Interval) -> Interval:
    return Interval(*(math.exp(value) for value in interval))
