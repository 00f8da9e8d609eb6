"""A recorded space as a measure: its optimum, its median, and what random search needs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mcts.errors import InputError

SHARE = 0.95
"""The share of the way from the median to the optimum at which the target lies."""


@dataclass(frozen=True, kw_only=True)
class RecordedSpace:
    """All configurations of a task, by their recorded median times in microseconds.

    `times_us` holds the measured ones, `failed` counts the others.
    """

    times_us: tuple[float, ...]
    failed: int
    baseline_us: float

    @property
    def optimum_us(self) -> float:
        return min(self.times_us)

    @property
    def median_us(self) -> float:
        return statistics.median(self.times_us)

    @property
    def target_us(self) -> float:
        """optimum + 5 % of (median - optimum), after Willemsen et al. 2024 (see `random_budget`)"""
        return self.optimum_us + (1 - SHARE) * (self.median_us - self.optimum_us)

    @cached_property
    def expected_best_us(self) -> NDArray[np.float64]:
        """Entry n - 1: the expected best time after n draws without replacement.

        Failures are draws too; the expectation is over the draws in which something was measured.
        """
        return expected_best(self.times_us, self.failed)

    @property
    def random_budget(self) -> int:
        """Unique evaluations after which the expected best of random search reaches the target.

        The budget of Willemsen, Schoonhoven, Filipovic, Torring, van Nieuwpoort and van Werkhoven,
        A methodology for comparing optimization algorithms for auto-tuning, Future Generation
        Computer Systems 159 (2024), section 3, with evaluations in place of seconds: easy spaces
        get few evaluations and hard ones many, and no optimizer under test decides how many.
        """
        reached = np.nonzero(self.expected_best_us <= self.target_us)[0]
        return int(reached[0]) + 1


def expected_best(times: Sequence[float], failed: int) -> NDArray[np.float64]:
    """Expected smallest of `times` after n = 1 ... draws without replacement.

    The draws are from `times` and `failed` draws that bring nothing; the best is the k-th smallest
    with probability C(N - k, n - 1) / C(N, n). Where nothing was drawn yet there is no best, so
    the probabilities are taken relative to having drawn something. Raises InputError for no times.
    """
    if not times:
        raise InputError("the recording holds no measured configuration")
    ranked = np.sort(np.asarray(times, dtype=np.float64))
    count, total = len(ranked), len(ranked) + failed
    best = np.empty(total)
    # survival[k]: probability that none of the k fastest is among the n drawn so far
    survival = np.ones(count + 1)
    below = total - np.arange(count + 1)
    for drawn in range(total):
        left = np.maximum(below - drawn, 0)
        survival = survival * left / (total - drawn)
        mass = survival[:-1] - survival[1:]
        best[drawn] = float(mass @ ranked / mass.sum())
    return best
