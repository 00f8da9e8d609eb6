"""The judge's own clock: what a batch took, as seen from another process.

Whatever runs in the candidate's process can be forged there. The judge times the round trip of
each request instead, takes off what the same request costs without a candidate, and compares with
the event times that the worker claims. Work that is hidden from the events (on another stream, in
a thread, in an output that computes when it is read) shows here: in the run, or in the fetch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

_HIDDEN_SHARE = 0.3
_HIDDEN_US = 3000.0


@dataclass(frozen=True, slots=True)
class Batch:
    """One timed batch: the claimed event times of its calls, and what the judge saw."""

    events_us: tuple[float, ...]
    run_us: float
    fetch_us: float

    @property
    def calls(self) -> int:
        return len(self.events_us)


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a request costs without a candidate, a straight line over the number of calls."""

    fixed_us: float
    per_call_us: float

    @classmethod
    def fit(cls, samples: Sequence[tuple[int, float]]) -> Overhead:
        """Least squares over (calls, microseconds); with one number of calls, all is fixed."""
        counts = {calls for calls, _ in samples}
        if len(counts) < 2:
            return cls(fixed_us=median(us for _, us in samples), per_call_us=0.0)
        slope, start = np.polyfit([calls for calls, _ in samples], [us for _, us in samples], 1)
        return cls(fixed_us=max(0.0, float(start)), per_call_us=max(0.0, float(slope)))

    def of(self, calls: int) -> float:
        return self.fixed_us + self.per_call_us * calls


@dataclass(frozen=True, slots=True)
class OutsideClock:
    """Compares batches with what they claim.

    The clocks agree where neither counts more than `slack` times the other and `slack_us` besides.
    """

    run: Overhead
    fetch: Overhead
    slack: float = 1.1
    slack_us: float = 25.0

    def call_us(self, batches: Sequence[Batch]) -> float:
        """Microseconds a call by the judge's clock, work done at the fetch included.

        The slope over batches of different sizes, in which what is fixed cancels: the median of
        the slopes between pairs, which single late batches do not move (Theil 1950, Sen 1968). The
        mean over all calls where the sizes do not differ enough for one. Never below zero.
        """
        from scipy.stats import theilslopes

        rest = [(batch.calls, self._run_rest_us(batch)) for batch in batches]
        hidden = sum(max(0.0, self.hidden_us(batch)) for batch in batches)
        calls = sum(batch.calls for batch in batches)
        counts = [count for count, _ in rest]
        if len(batches) >= 4 and max(counts) >= min(counts) + 4:
            run_us = float(theilslopes([us for _, us in rest], counts).slope)
        else:
            run_us = sum(us for _, us in rest) / calls
        return max(0.0, run_us) + hidden / calls

    def claimed_us(self, batches: Sequence[Batch]) -> float:
        """The median of the event times."""
        return median(us for batch in batches for us in batch.events_us)

    def resolves(self, us: float) -> bool:
        """Whether a time is long enough for this clock to say anything about it."""
        return us > self.slack_us

    def hidden_us(self, batch: Batch) -> float:
        """How much longer the fetch took than the bytes explain; 0 within what noise explains."""
        excess = batch.fetch_us - self.fetch.of(batch.calls)
        if excess < max(_HIDDEN_US, _HIDDEN_SHARE * self.fetch.of(batch.calls)):
            return 0.0
        return excess

    def disagreement(self, batches: Sequence[Batch]) -> str | None:
        """Why the claimed times cannot be believed, or None where both clocks agree."""
        claimed = self.claimed_us(batches)
        outside = self.call_us(batches)
        if outside > self.slack * claimed + self.slack_us:
            return (
                f"the clocks disagree: a call took {outside:.4g} us by the judge's clock, "
                f"{claimed:.4g} us by the CUDA events of the candidate's process"
            )
        if claimed > self.slack * outside + self.slack_us:
            return (
                f"the CUDA events of the candidate's process count {claimed:.4g} us for a call "
                f"that took {outside:.4g} us by the judge's clock"
            )
        return None

    def _run_rest_us(self, batch: Batch) -> float:
        return batch.run_us - self.run.of(batch.calls)
