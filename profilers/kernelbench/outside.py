"""The judge's own clock: what a block took, as seen from another process.

Whatever runs in the candidate's process can be forged there. The judge times three steps of a block
from outside: inputs put where the candidate can see them and copied, the calls, the outputs handed
back. It takes off what each step costs without a candidate, and compares the rest with the event
times that are claimed. Work that the events do not show (on another stream, in a thread, while
inputs are copied, in an output that computes when it is read) is in one of the steps all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

_SLACK = 1.1
_UNEVEN = 1.3
_COPY_SLACK = 0.05


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a span costs without a candidate: a line over the calls, and how much it varies."""

    fixed_us: float
    per_call_us: float
    spread_us: float

    @classmethod
    def fit(cls, samples: Sequence[tuple[int, float]]) -> Overhead:
        """Least squares over (calls, microseconds); with one number of calls, all is fixed.

        The spread is the root mean square of the residuals.
        """
        calls, us = [float(count) for count, _ in samples], [us for _, us in samples]
        if len(set(calls)) < 2:
            found = cls(fixed_us=median(us), per_call_us=0.0, spread_us=0.0)
        else:
            slope, start = np.polyfit(calls, us, 1)
            found = cls(fixed_us=float(start), per_call_us=max(0.0, float(slope)), spread_us=0.0)
        rest = [value - found.of(count) for count, value in zip(calls, us, strict=True)]
        spread = math.sqrt(fmean(value * value for value in rest))
        return cls(found.fixed_us, found.per_call_us, spread)

    def of(self, calls: float) -> float:
        return self.fixed_us + self.per_call_us * calls


@dataclass(frozen=True, slots=True)
class Steps:
    """Microseconds of a block's steps, or what they cost by themselves."""

    prepare_us: float
    run_us: float
    fetch_us: float


@dataclass(frozen=True, slots=True)
class Overheads:
    """What each step costs without a candidate."""

    prepare: Overhead
    run: Overhead
    fetch: Overhead

    @classmethod
    def fit(cls, samples: Sequence[tuple[int, Steps]]) -> Overheads:
        """From so many calls and their steps."""
        return cls(
            prepare=Overhead.fit([(calls, steps.prepare_us) for calls, steps in samples]),
            run=Overhead.fit([(calls, steps.run_us) for calls, steps in samples]),
            fetch=Overhead.fit([(calls, steps.fetch_us) for calls, steps in samples]),
        )

    def span(self, events_us: Sequence[float], steps: Steps) -> Span:
        """A block's claim beside what was seen beyond these costs.

        All of it in the calls themselves; before and after them, where much data is copied, what is
        more than the copies vary by.
        """
        calls = len(events_us)
        excess = steps.run_us - self.run.of(calls)
        for cost, us in ((self.prepare, steps.prepare_us), (self.fetch, steps.fetch_us)):
            beyond = us - cost.of(calls)
            if beyond > _COPY_SLACK * cost.of(calls) + 4 * cost.spread_us:
                excess += beyond
        return Span(tuple(events_us), excess_us=excess, spread_us=self.run.spread_us)


@dataclass(frozen=True, slots=True)
class Span:
    """One timed block: the claimed event times of its calls, and what the judge saw beyond what the
    block costs by itself; `spread_us` is how much that cost varies."""

    events_us: tuple[float, ...]
    excess_us: float
    spread_us: float

    @property
    def calls(self) -> int:
        return len(self.events_us)


@dataclass(frozen=True, slots=True)
class OutsideClock:
    """Compares spans with what they claim.

    The clocks agree where neither counts more than a tenth beyond the other, and `slack_us` a call
    and four standard errors besides.
    """

    slack_us: float = 5.0

    def call_us(self, spans: Sequence[Span]) -> float:
        """Microseconds a call by the judge's clock: the median over spans, never below zero."""
        return max(0.0, median(span.excess_us / span.calls for span in spans))

    def claimed_us(self, spans: Sequence[Span]) -> float:
        """Microseconds a call by the events: the median over spans of their means.

        Means, because work of many calls may be done in one of them.
        """
        return median(fmean(span.events_us) for span in spans)

    def slack(self, spans: Sequence[Span]) -> float:
        """How far the clocks may lie apart, microseconds a call, beside their tenth."""
        errors = [span.spread_us / span.calls for span in spans]
        return self.slack_us + 4 * fmean(errors) / math.sqrt(len(spans))

    def resolves(self, spans: Sequence[Span]) -> bool:
        """Whether calls are long enough for this clock to say anything about them."""
        return self.call_us(spans) > self.slack(spans)

    def uneven(self, spans: Sequence[Span]) -> bool:
        """Whether a typical call says little about all of them."""
        typical = median(us for span in spans for us in span.events_us)
        return self.claimed_us(spans) > _UNEVEN * typical + self.slack_us

    def disagreement(self, spans: Sequence[Span]) -> str | None:
        """Why the claimed times cannot be believed, or None where both clocks agree."""
        claimed, outside = self.claimed_us(spans), self.call_us(spans)
        slack = self.slack(spans)
        if outside > _SLACK * claimed + slack:
            return (
                f"the clocks disagree: a call took {outside:.4g} us by the judge's clock, "
                f"{claimed:.4g} us by the CUDA events of the candidate's process"
            )
        if claimed > _SLACK * outside + slack:
            return (
                f"the CUDA events of the candidate's process count {claimed:.4g} us for a call "
                f"that took {outside:.4g} us by the judge's clock"
            )
        return None
