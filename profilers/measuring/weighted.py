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


class Samples(NamedTuple):
    """A shape's share of the weight, and both programs' times by block, in microseconds."""

    weight: float
    baseline: Sequence[Sequence[float]]
    candidate: Sequence[Sequence[float]]


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


def timing_of_all(
    task: KernelTask,
    whole: Weighted,
    shapes: tuple[ShapeTiming, ...],
    *,
    host_us: float | None,
) -> Timing:
    """The `Timing` of several shapes of `task`."""
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
