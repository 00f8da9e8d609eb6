"""Sums over contributions: all that a belief needs to know of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mcts.knowledge.contribution import Contribution

FAILURE_GAIN = 0.7
"""The gain of a variant that failed: worse than most regressions, better than the worst."""
MAX_LOG_GAIN = math.log(4)
"""Bounds outliers: an observation counts as at most four times as fast, or a quarter."""
SAME_TASK_CORRELATION = 0.1
"""Correlation between observations of the same task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """count, total, squares: observations with their log gains and squared log gains summed, each
    weighing 1 over the number of methods that share it. tried counts contributions, of which
    improved were faster beyond noise, failed had no result, and unrealised never reached the
    machine code, which is no evidence. predictions: how many of those measured had been predicted;
    predicted, found: the log gains predicted and measured of those, summed.
    """

    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    tried: int = 0
    improved: int = 0
    failed: int = 0
    unrealised: int = 0
    predictions: int = 0
    predicted: float = 0.0
    found: float = 0.0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__slots__}
        )

    def discounted(self) -> Evidence:
        """As many independent observations as these are worth, all of one task.

        n observations of correlation r say as much as n / (1 + (n - 1) r) independent ones (Kish,
        Survey Sampling, 1965, section 5.4): a recording replayed a hundred times counts for ten.
        Only what beliefs are made of is scaled.
        """
        if self.count <= 1.0:
            return self
        share = 1.0 / (1.0 + (self.count - 1.0) * SAME_TASK_CORRELATION)
        return Evidence(
            count=share * self.count,
            total=share * self.total,
            squares=share * self.squares,
            tried=self.tried,
            improved=self.improved,
            failed=self.failed,
            unrealised=self.unrealised,
            predictions=self.predictions,
            predicted=self.predicted,
            found=self.found,
        )

    @property
    def mean(self) -> float:
        """Mean log gain; 0 without observations."""
        return self.total / self.count if self.count > 0 else 0.0

    @property
    def deviations(self) -> float:
        """Sum of squared deviations from the mean."""
        return max(0.0, self.squares - self.total * self.mean)


NOTHING = Evidence()


def observed_gain(gain: float | None) -> float:
    """The log gain that an observation counts as, None being a failure."""
    log_gain = math.log(FAILURE_GAIN if gain is None else gain)
    return min(MAX_LOG_GAIN, max(-MAX_LOG_GAIN, log_gain))


def evidence_of(contribution: Contribution) -> Evidence:
    """What one contribution adds."""
    if contribution.realised is False:
        return Evidence(tried=1, failed=contribution.gain is None, unrealised=1)
    weight, gain = 1.0 / contribution.among, observed_gain(contribution.gain)
    predicted = contribution.predicted if contribution.gain is not None else None
    return Evidence(
        count=weight,
        total=weight * gain,
        squares=weight * gain * gain,
        tried=1,
        improved=int(contribution.outcome == "improved"),
        failed=int(contribution.gain is None),
        predictions=int(predicted is not None),
        predicted=math.log(predicted) if predicted is not None else 0.0,
        found=gain if predicted is not None else 0.0,
    )


def total(parts: Iterable[Evidence]) -> Evidence:
    """The sum of parts."""
    return sum(parts, NOTHING)
