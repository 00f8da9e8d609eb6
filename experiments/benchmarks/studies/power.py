"""What a study could have seen: the smallest difference that it would find most of the time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

Floats = NDArray[np.float64]
WANTED = 0.8
"""Share of studies that should find a difference that is there (Cohen 1988)."""
_REPEATS = 200
_RATIOS = (
    1.005,
    1.01,
    1.02,
    1.03,
    1.05,
    1.07,
    1.1,
    1.15,
    1.2,
    1.25,
    1.35,
    1.5,
    1.75,
    2.0,
    3.0,
    5.0,
)


def detectable(by_task: Sequence[Floats], *, alpha: float, seed: int) -> float | None:
    """The smallest ratio that a study with this spread would find in 80 % of repeats.

    By simulation: the observed log differences, less each task's mean, are resampled within their
    tasks and moved by the log of a ratio; the signed-rank test at `alpha` is then taken. None where
    not even a ratio of 5 would be found. `alpha` is what Holm leaves to the smallest p-value of the
    family, so that the answer is a cautious one.
    """
    generator = np.random.default_rng(seed)
    centred = [values - values.mean() for values in by_task]
    drawn = np.concatenate(
        [generator.choice(values, size=(_REPEATS, len(values))) for values in centred], axis=1
    )
    if 2.0 ** (1 - drawn.shape[1]) > alpha:
        return None
    low, high = 0, len(_RATIOS)
    while low < high:
        middle = (low + high) // 2
        if _power(drawn + math.log(_RATIOS[middle]), alpha) >= WANTED:
            high = middle
        else:
            low = middle + 1
    return _RATIOS[low] if low < len(_RATIOS) else None


def _power(studies: Floats, alpha: float) -> float:
    """Share of the rows that the signed-rank test finds, by its normal approximation."""
    ranks = rankdata(np.abs(studies), axis=1)
    ranks[studies == 0] = 0
    score = (ranks * np.sign(studies)).sum(axis=1) / np.sqrt((ranks**2).sum(axis=1))
    return float((score >= norm.ppf(1 - alpha / 2)).mean())
