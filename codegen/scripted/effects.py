"""What the times of a run say of each value of each tunable.

A Gaussian process over log speedups whose covariance is a sum over the tunables (an additive
kernel: Duvenaud, Nickisch and Rasmussen, Additive Gaussian Processes, NIPS 2011): its mean is
a sum of one effect per value, which is all that the proposer's weights, a product over tunables,
can use. How tunables act together is left to the search, which goes on from what was good.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mcts.domain import Scalar

Floats = NDArray[np.float64]

NEIGHBOUR_CORRELATION = 0.5
"""Correlation of the effects of values a quarter of a tunable's range apart, or of neighbours if
these are further apart; of values twice as far apart, its square."""
RESIDUAL_VARIANCE = 0.3
"""Variance that values alone do not explain, in units of that of the effects together."""
MIN_MEASURED = 4
"""Measurements that are needed before an effect is estimated."""


def value_effects(
    values: Sequence[Sequence[Scalar]], rows: NDArray[np.int64], log_speedups: Floats
) -> Floats:
    """Effect of each value, in standard deviations of the log speedups measured.

    values: of each tunable. rows: n x tunables, positions of values. log_speedups: n, NaN for what
    failed, which counts as the worst measured, or a standard deviation below the mean where that is
    worse. Returns tunables x most values; 0 beyond a tunable's values, and all 0 if too little
    was measured or nothing differed.
    """
    effects = np.zeros((len(values), max(map(len, values))))
    measured = log_speedups[~np.isnan(log_speedups)]
    if len(measured) < MIN_MEASURED or not (spread := float(measured.std())) > 0:
        return effects
    gains = (log_speedups - measured.mean()) / spread
    gains = np.where(np.isnan(gains), min(-1.0, float(np.nanmin(gains))), gains)
    covariances = [value_covariance(known) / len(values) for known in values]
    covariance = RESIDUAL_VARIANCE * np.eye(len(rows))
    for column, alike in enumerate(covariances):
        covariance += alike[np.ix_(rows[:, column], rows[:, column])]
    weights = np.linalg.solve(covariance, gains - gains.mean())
    for column, alike in enumerate(covariances):
        effects[column, : len(alike)] = alike[:, rows[:, column]] @ weights
    return effects


def value_covariance(values: Sequence[Scalar]) -> Floats:
    """Covariance of the effects of a tunable's values: text has no order, numbers have."""
    if not all(isinstance(value, int | float) for value in values):
        return np.eye(len(values))
    at = np.arange(len(values))
    unit = max(1.0, (len(values) - 1) / 4)
    alike: Floats = NEIGHBOUR_CORRELATION ** (np.abs(at[:, None] - at[None, :]) / unit)
    return alike
