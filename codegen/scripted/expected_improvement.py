"""The configuration of the greatest expected improvement, anywhere in a space of tunables.

Expected improvement (Mockus, Tiesis and Zilinskas, 1978; Jones, Schonlau and Welch, Efficient
Global Optimization of Expensive Black-Box Functions, J. Global Optimization 13, 1998) under a
Gaussian process over log speedups whose covariance is a product over the tunables: variants are
alike as far as all of their values are. Unlike the effects of single values
(`codegen.scripted.effects`), it sees tunables that are good only together, and what a run knows
nothing of is worth a look: a value never measured, or one that a single step from where the run
stands is not allowed to reach.

What is slower than the best by more than a margin counts as slower by the margin: the model is to
tell the fast configurations apart.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from codegen.scripted.candidate_space import CandidateSpace
from codegen.scripted.effects import MIN_MEASURED, value_covariance
from codegen.scripted.encoded_space import Rows
from mcts.domain import Scalar
from mcts.ports import Attempt

Floats = NDArray[np.float64]

CHANGE_COVARIANCE = 0.5
"""Covariance that a change of one tunable to a wholly unlike value takes away."""
MARGIN = 1.0
"""Log speedups further than this below the best measured count as this far below it: 2.7 times
as slow and ten times as slow are both places not to go."""
NOISE = 0.01
"""Variance of a measurement, in that of the log speedups measured."""
MAX_POOL = 4096
"""From larger spaces so many configurations, drawn evenly, are looked at."""


def most_promising(
    space: CandidateSpace,
    pool: Rows,
    history: Sequence[Attempt],
    *,
    tried: Container[str],
    rng: random.Random,
) -> Rows | None:
    """The untried row of `pool` of the greatest expected gain; None if the run's times say
    nothing, or nothing is left."""
    rows, log_speedups = space.observed(history)
    if len(pool) > MAX_POOL:
        drawn = np.random.default_rng(rng.getrandbits(63))
        pool = pool[drawn.choice(len(pool), MAX_POOL, replace=False)]
    gains = expected_gains(space.encoded.values, rows, log_speedups, pool)
    if gains is None:
        return None
    best_first = (pool[at] for at in np.argsort(-gains, kind="stable"))
    return next((row for row in best_first if space.id_of(row) not in tried), None)


def expected_gains(
    values: Sequence[Sequence[Scalar]],
    rows: Rows,
    log_speedups: Floats,
    pool: Rows,
) -> Floats | None:
    """Expected improvement on the best measured of each row of `pool`, in standard deviations of
    the log speedups; None if too little was measured or nothing differed.

    values: of each tunable. rows: n x tunables, positions of values. log_speedups: n, NaN for what
    failed, which counts as the worst measured.
    """
    gains = counted_gains(log_speedups)
    if gains is None:
        return None
    gains = (gains - gains.mean()) / float(gains.std())
    mean, deviation = _predicted(values, rows, gains, pool)
    return improvement(mean - gains.max(), deviation)


def counted_gains(log_speedups: Floats) -> Floats | None:
    """The log speedups as the model counts them: what failed or is far behind as the worst.

    None if too little was measured or nothing differed.
    """
    measured = log_speedups[~np.isnan(log_speedups)]
    if len(measured) < MIN_MEASURED:
        return None
    floor = max(measured.max() - MARGIN, measured.min())
    gains: Floats = np.where(np.isnan(log_speedups), floor, np.maximum(log_speedups, floor))
    return gains if float(gains.std()) > 0 else None


def _predicted(
    values: Sequence[Sequence[Scalar]], rows: Rows, gains: Floats, wanted: Rows
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the gains of the `wanted` rows, after those of `rows`."""
    alike = [
        1.0 - CHANGE_COVARIANCE + CHANGE_COVARIANCE * value_covariance(known) for known in values
    ]
    known = covariance(alike, rows, rows) + NOISE * np.eye(len(rows))
    factor = np.linalg.cholesky(known)
    shared = np.linalg.solve(factor, covariance(alike, rows, wanted))
    mean: Floats = shared.T @ np.linalg.solve(factor, gains)
    return mean, np.sqrt(np.maximum(1.0 - (shared**2).sum(axis=0), NOISE**2))


def covariance(alike: Sequence[Floats], rows: Rows, others: Rows) -> Floats:
    covariance = np.ones((len(rows), len(others)))
    for column, known in enumerate(alike):
        covariance *= np.take(known[rows[:, column]], others[:, column], axis=1)
    return covariance


def improvement(above: Floats, deviation: Floats) -> Floats:
    """E[max(0, X)] of X normal with mean `above`: d (u Phi(u) + phi(u)), u = above / d."""
    from scipy.special import ndtr

    u = above / deviation
    density = np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
    improvement: Floats = deviation * (u * ndtr(u) + density)
    return improvement
