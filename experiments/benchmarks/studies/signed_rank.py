"""Wilcoxon's signed-rank test, exactly, and what goes with it: Holm's correction, effect size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]


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
    pairs need an approximation. The effect is (W+ - W-) / (W+ + W-) (Kerby, The Simple Difference
    Formula, Comprehensive Psychology 3, 2014). Without a difference p is 1 and the effect 0.
    """
    values = np.asarray(differences, dtype=np.float64)
    # Averaged ranks are halves, so that twice the rank is whole.
    doubled = np.rint(2 * rankdata(np.abs(values))).astype(np.int64)
    doubled, signs = doubled[values != 0], np.sign(values[values != 0])
    if not len(doubled):
        return SignedRank(1.0, 0.0, 0, 1.0)
    total, plus = int(doubled.sum()), int(doubled[signs > 0].sum())
    tail = _tail(doubled, max(plus, total - plus))
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
