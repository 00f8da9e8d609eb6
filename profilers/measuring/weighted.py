"""The weighted latency of several shapes and its speedup, with 95 % intervals.

The latency of a program is T = sum of w_i t_i over its shapes, the speedup the baseline's T over
the candidate's. The shapes take turns, a block of each, so that a drift of the device affects all
of them alike; a turn of blocks counts as one observation, as a block does with a single shape.

The interval is by the delta method (Oehlert, A Note on the Delta Method, The American Statistician
46, 1992). With x_ik and y_ik the logarithms of candidate's and baseline's median in block k of
shape i, a small change of log(T_y / T_x) is the sum over shapes of p_i dy_i - q_i dx_i, where p_i
and q_i are the shares of shape i in the two latencies. So the sums over shapes of
p_i y_ik - q_i x_ik are as many observations as there are turns, and Student's t over them gives the
interval, whether the shapes' errors are independent or shared.

Samples without blocks are independent: they are resampled shape by shape and program by program, a
percentile bootstrap of the whole ratio (Efron & Tibshirani, An Introduction to the Bootstrap, 1993,
chapter 13).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcts.domain import KernelTask, Timing
from mcts.domain.evaluation import ShapeTiming
from mcts.statistics import (
    Interval,
    as_times,
    block_medians,
    detectable,
    exp_interval,
    percentile_interval,
    resampled_medians,
    student_interval,
)

Array = NDArray[np.float64]

BETWEEN_MOMENTS = 0.02
"""Half the width of a 95 % interval for how far clocks and placement move a time from one moment
to the next, relative: the baselines of five of six KernelBench problems varied with a standard
deviation of 0.1 to 0.8 % over some ten verdicts of several days on H200s.
"""


class Samples(NamedTuple):
    """A shape's share of the weight, and both programs' times by block, in microseconds."""

    weight: float
    baseline: Sequence[Sequence[float]]
    candidate: Sequence[Sequence[float]]


class Apart(NamedTuple):
    """A shape's share of the weight, and what a measurement of it alone has come to."""

    weight: float
    baseline: Interval
    candidate: Interval
    speedup: Interval


class Weighted(NamedTuple):
    """The weighted latency of the candidate, that of the baseline, and their ratio.

    `detectable` is the least relative difference in the ratio that so many blocks can tell from
    none, four times in five; None for fewer than two.
    """

    candidate: Interval
    baseline_us: float
    speedup: Interval
    detectable: float | None = None


def weighted_blocked(shapes: Sequence[Samples], seed: int) -> Weighted:
    """From shapes that were timed in turns, as many blocks of paired rounds of each.

    The time of a shape is the geometric mean of its blocks' medians, as `median_blocked` has it. A
    single block has the interval of `weighted_unpaired`, the only use of `seed`. ValueError without
    samples, or if shapes differ in their number of blocks.
    """
    if len({len(side) for shape in shapes for side in (shape.baseline, shape.candidate)}) > 1:
        raise ValueError("the shapes were not timed in as many blocks")
    if len(shapes[0].baseline) == 1:
        return weighted_unpaired(shapes, seed)
    before = _Side(shapes, [shape.baseline for shape in shapes])
    after = _Side(shapes, [shape.candidate for shape in shapes])
    ratios = before.moves - after.moves
    return Weighted(
        candidate=_around(after.total_us, after.moves),
        baseline_us=before.total_us,
        speedup=_around(before.total_us / after.total_us, ratios),
        detectable=detectable(ratios),
    )


def weighted_unpaired(shapes: Sequence[Samples], seed: int) -> Weighted:
    """From separate measurements of both, as a recording holds them: the ratio of latencies.

    The time of a shape is the median of its samples. ValueError without samples.
    """
    generator = np.random.default_rng(seed)
    before_us, before = _resampled([(s.weight, s.baseline) for s in shapes], generator)
    after_us, after = _resampled([(s.weight, s.candidate) for s in shapes], generator)
    return Weighted(
        candidate=percentile_interval(after_us, after),
        baseline_us=before_us,
        speedup=percentile_interval(before_us / after_us, before / after),
    )


def weighted_apart(shapes: Sequence[Apart]) -> Weighted:
    """From shapes that were timed one after the other, each with intervals of its own.

    With p_i and q_i as above, a small change of log(T_y / T_x) is the sum over shapes of
    q_i d log(y_i / x_i) + (p_i - q_i) d log y_i. The intervals' half widths stand for the changes;
    within a shape they are added, as its speedup and its baseline's time may go together, and over
    shapes their squares are, as those are independent. Times of different moments are not known
    better than to `BETWEEN_MOMENTS`. `detectable` is not known.
    """
    before = [shape.weight * shape.baseline.point for shape in shapes]
    after = [shape.weight * shape.candidate.point for shape in shapes]
    before_us, after_us = math.fsum(before), math.fsum(after)
    parts = [
        (x / after_us, abs(y / before_us - x / after_us))
        for y, x in zip(before, after, strict=True)
    ]
    ratio = math.hypot(
        *(
            own * _half_width(shape.speedup)
            + moved * math.hypot(_half_width(shape.baseline), BETWEEN_MOMENTS)
            for shape, (own, moved) in zip(shapes, parts, strict=True)
        )
    )
    time = math.hypot(
        *(own * _half_width(shape.candidate) for shape, (own, _) in zip(shapes, parts, strict=True))
    )
    return Weighted(
        candidate=_within(after_us, time),
        baseline_us=before_us,
        speedup=_within(before_us / after_us, ratio),
    )


def timing_of_all(
    task: KernelTask,
    whole: Weighted,
    shapes: tuple[ShapeTiming, ...],
    *,
    host_us: float | None,
    baseline: str = "baseline",
) -> Timing:
    """The `Timing` of several shapes of `task`; `baseline` says what the speedup is over."""
    least = [shape.weight * shape.least_us for shape in shapes if shape.least_us is not None]
    return Timing(
        median_us=whole.candidate.point,
        low_us=whole.candidate.low,
        high_us=whole.candidate.high,
        baseline_us=whole.baseline_us,
        speedup=whole.speedup.point,
        speedup_low=whole.speedup.low,
        speedup_high=whole.speedup.high,
        rounds=sum(shape.rounds for shape in shapes),
        host_us=host_us,
        detectable=whole.detectable,
        least_us=math.fsum(least) if len(least) == len(shapes) else None,
        baseline=baseline,
        shapes=shapes,
        regressions_allowed=task.regressions == "allowed",
    )


class _Side:
    """One program: its latency, and to first order the change of its log in each turn."""

    def __init__(
        self, shapes: Sequence[Samples], blocks: Sequence[Sequence[Sequence[float]]]
    ) -> None:
        logs = np.array(
            [block_medians([np.log(as_times(block)) for block in own]) for own in blocks]
        )
        parts = np.array([shape.weight for shape in shapes]) * np.exp(logs.mean(axis=1))
        self.total_us = float(parts.sum())
        shares: Array = parts / parts.sum()
        self.moves: Array = shares @ logs


def _around(point: float, moves: Array) -> Interval:
    """The interval of a positive `point` whose logarithm moves with the mean of `moves`."""
    low, middle, high = student_interval(moves)
    at = math.log(point)
    low, _, high = exp_interval(Interval(at + low - middle, at, at + high - middle))
    return Interval(min(low, point), point, max(high, point))


def _half_width(interval: Interval) -> float:
    """Half the width of an interval of a positive quantity, in logarithms."""
    return math.log(interval.high / interval.low) / 2


def _within(point: float, half_width: float) -> Interval:
    return Interval(point * math.exp(-half_width), point, point * math.exp(half_width))


def _resampled(
    sides: Sequence[tuple[float, Sequence[Sequence[float]]]], generator: np.random.Generator
) -> tuple[float, Array]:
    """A weighted latency of medians, and its distribution under resampling of every shape."""
    total, drawn = 0.0, np.zeros(1)
    for weight, blocks in sides:
        times = as_times([us for block in blocks for us in block])
        total += weight * float(np.median(times))
        drawn = drawn + weight * resampled_medians(times, generator)
    return total, drawn
