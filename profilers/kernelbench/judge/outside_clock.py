"""The judge's own clock: what a block took, as seen from another process.

Whatever runs in the candidate's process can be forged there. The judge times three steps of a block
from outside: inputs put where the candidate can see them and copied, the calls, the outputs handed
back. The baseline does the same steps in a process of the same kind, in turns with the candidate;
what its steps take beyond its own calls is what steps cost by themselves. Work that the candidate's
events do not show (on another stream, in a thread, while inputs are copied, in an output that
computes when it is read) is in one of its steps all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

_SLACK = 1.1
_UNEVEN = 1.3
_COPY_SLACK = 0.05
_STANDARD_ERRORS = 4
_BLIND_SHARE = 0.5
_BLIND_SLACKS = 2


@dataclass(frozen=True, slots=True)
class BlockSteps:
    """Microseconds of a block's steps."""

    prepare_us: float
    run_us: float
    fetch_us: float

    @property
    def copies_us(self) -> float:
        return self.prepare_us + self.fetch_us

    @property
    def total_us(self) -> float:
        return self.copies_us + self.run_us


@dataclass(frozen=True, slots=True)
class BlockSide:
    """The event times of a block's calls, and what its steps took by the judge's clock."""

    events_us: tuple[float, ...]
    steps: BlockSteps


@dataclass(frozen=True, slots=True)
class PairedBlock:
    """One block of as many calls on either side; the events of `candidate` are a claim."""

    candidate: BlockSide
    baseline: BlockSide

    @property
    def calls(self) -> int:
        return len(self.candidate.events_us)


Part = Callable[[BlockSteps], float]


def _run_us(steps: BlockSteps) -> float:
    return steps.run_us


def _total_us(steps: BlockSteps) -> float:
    return steps.total_us


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What one part of the steps says: microseconds a call, and how far that may be off."""

    outside_us: float
    slack_us: float
    noise_us: float

    def exceeds(self, claimed_us: float) -> bool:
        return self.outside_us > _SLACK * claimed_us + self.slack_us


@dataclass(frozen=True, slots=True)
class OutsideClock:
    """Compares spans with what they claim, all calls taken together.

    The clocks agree where neither counts more than a tenth beyond the other, and `slack_us` a call
    and four standard errors besides; where copies count, a twentieth of what those take as well,
    for two processes copy at speeds of their own.
    """

    slack_us: float = 5.0

    def call_us(self, spans: Sequence[PairedBlock]) -> float:
        """Microseconds a call by the judge's clock, never below zero."""
        run, total = self._view(spans, _run_us), self._total(spans)
        seen = total if total.exceeds(self.claimed_us(spans)) else run
        return max(0.0, run.outside_us, seen.outside_us)

    def claimed_us(self, spans: Sequence[PairedBlock]) -> float:
        """Microseconds a call by the events: their mean, as one call may do the work of many."""
        return fmean(us for span in spans for us in span.candidate.events_us)

    def resolves(self, spans: Sequence[PairedBlock]) -> bool:
        """Whether calls are long enough for this clock to say anything about them."""
        return self.call_us(spans) > self._view(spans, _run_us).slack_us

    def uneven(self, spans: Sequence[PairedBlock]) -> bool:
        """Whether a typical call says little about all of them."""
        typical = median(us for span in spans for us in span.candidate.events_us)
        return self.claimed_us(spans) > _UNEVEN * typical + self.slack_us

    def disagreement(self, spans: Sequence[PairedBlock]) -> str | None:
        """Why the claimed times cannot be believed, or None if both clocks agree."""
        claimed = self.claimed_us(spans)
        run = self._view(spans, _run_us)
        if run.exceeds(claimed) or self._total(spans).exceeds(claimed):
            return (
                f"the clocks disagree: a call took {self.call_us(spans):.4g} us by the judge's "
                f"clock, {claimed:.4g} us by the CUDA events of the candidate's process"
            )
        if claimed > _SLACK * run.outside_us + run.slack_us:
            return (
                f"the CUDA events of the candidate's process count {claimed:.4g} us for a call "
                f"that took {max(0.0, run.outside_us):.4g} us by the judge's clock"
            )
        return None

    def too_noisy(self, spans: Sequence[PairedBlock]) -> str | None:
        """Why this clock could not have seen a lie that matters, or None if it could.

        Where the host is so busy that blocks vary by half of what a call is claimed to take, and
        by twice the slack besides: beside a slow baseline much could hide behind a small claim.
        """
        claimed = self.claimed_us(spans)
        noise_us = self._view(spans, _run_us).noise_us
        if noise_us <= max(_BLIND_SHARE * claimed, _BLIND_SLACKS * self.slack_us):
            return None
        return (
            "the judge's clock was too unsteady to check the events (it varies by "
            f"{noise_us:.4g} us a call, which they say takes {claimed:.4g} us): is the machine "
            "busy with something else?"
        )

    def worst_block(self, spans: Sequence[PairedBlock]) -> int:
        """Which block lies farthest from what its events claim."""

        def off_us(span: PairedBlock) -> float:
            apart = span.candidate.steps.total_us - span.baseline.steps.total_us
            return abs(apart - sum(span.candidate.events_us) + sum(span.baseline.events_us))

        return max(range(len(spans)), key=lambda index: off_us(spans[index]))

    def _total(self, spans: Sequence[PairedBlock]) -> _Estimate:
        """With the copies before and after the calls."""
        view = self._view(spans, _total_us)
        calls = sum(span.calls for span in spans)
        copies = sum(span.baseline.steps.copies_us for span in spans) / calls
        return _Estimate(view.outside_us, view.slack_us + _COPY_SLACK * copies, view.noise_us)

    def _view(self, spans: Sequence[PairedBlock], part: Part) -> _Estimate:
        calls = sum(span.calls for span in spans)
        costs = [part(span.baseline.steps) - sum(span.baseline.events_us) for span in spans]
        took = sum(part(span.candidate.steps) for span in spans)
        error = residual_std_us([span.calls for span in spans], costs) * math.sqrt(2 * len(spans))
        noise_us = _STANDARD_ERRORS * error / calls
        return _Estimate((took - sum(costs)) / calls, self.slack_us + noise_us, noise_us)


def residual_std_us(calls: Sequence[int], costs_us: Sequence[float]) -> float:
    """The standard deviation of what blocks cost about a line over their calls.

    About their mean where all have as many calls, and 0 if there are too few to tell.
    """
    order = 1 if len(set(calls)) > 1 else 0
    freedom = len(calls) - order - 1
    if freedom < 1:
        return 0.0
    fitted = np.polyval(np.polyfit(calls, costs_us, order), calls)
    return float(np.sqrt(np.square(np.subtract(costs_us, fitted)).sum() / freedom))
