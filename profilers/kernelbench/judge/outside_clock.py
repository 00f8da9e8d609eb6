"""The judge's own clock: how long a block took, seen from another process.

Whatever runs in the candidate's process can be forged there. So the judge times three steps of a
block from outside: inputs are placed and copied, the calls are made, the outputs are returned. The
baseline does the same steps in a process of the same kind, in turns with the candidate; what its
steps take beyond its own calls is their overhead. A host that has waited long starts its next call
late, so that a slow baseline's calls have more overhead than a fast candidate's: by 50 us on an
H100, behind calls of 2.6 ms. So the baseline's process makes idle calls as well, and overhead is
interpolated between the two. Work that the candidate's events do not show (on
another stream, in a thread, while inputs are copied, in an output that is computed when it is read)
still counts in one of the steps.

All blocks together tell most, but a busy host makes some of them a multiple longer. Where that
blinds their mean, most blocks must do: the median over blocks, of a candidate whose claims are
alike, since only then is what it claims in some blocks no different from what it claims in most.

A call that waits for the device leaves it idle until the host has enqueued the copies of its
outputs. Its events do not show that, nor does the overhead of a baseline that does not wait. So
where calls seem longer than their events, the baseline's process makes idle calls that wait. Up to
what these cost beyond the overhead may be no work, but still counts as the candidate's time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, median

import numpy as np
from numpy.typing import NDArray

_SLACK = 1.1
_UNEVEN = 1.3
_COPY_SLACK = 0.05
_STANDARD_ERRORS = 4
_SPARED_SLACK = 0.25
_BLIND_SHARE = 0.5
_BLIND_SLACKS = 2
_WAITED_BLOCKS = 5
_LOW_QUANTILE = 0.25
_MOST_WAITING_US = 100.0  # seen on H200s: 55
_MEDIAN_BLOCKS = 17  # with fewer, four standard errors of a median's rank are all of them


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
    """One block with the same number of calls on both sides; the candidate's events are a claim.

    `idle_us`: what as many calls that do nothing took in the baseline's process, beyond their
    events; `waiting_us`: the same of calls that do nothing but wait for the device. None if none
    were made.
    """

    candidate: BlockSide
    baseline: BlockSide
    idle_us: float | None = None
    waiting_us: float | None = None

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
    """An estimate from some of the steps: microseconds per call, and how far it may be off."""

    outside_us: float
    slack_us: float
    noise_us: float

    def exceeds(self, claimed_us: float, *, allowed_us: float = 0.0) -> bool:
        return self.outside_us > _SLACK * claimed_us + self.slack_us + allowed_us

    @property
    def without_noise(self) -> _Estimate:
        return _Estimate(self.outside_us, self.slack_us - self.noise_us, 0.0)


@dataclass(frozen=True, slots=True)
class OutsideClock:
    """Compares the times of paired blocks with what the events claim, over all calls.

    The clocks agree if neither exceeds the other by more than a tenth plus `slack_us` per call plus
    four standard errors, and a quarter of what is interpolated between the overhead of the
    baseline's calls and idle ones. If copies are included, a twentieth of their time is allowed as
    well, because two processes copy at different speeds.
    """

    slack_us: float = 5.0

    def call_us(self, blocks: Sequence[PairedBlock]) -> float:
        """Microseconds per call by the judge's clock, never below zero."""
        return max(0.0, self._estimate(blocks, self._part(blocks)).outside_us)

    def block_times_us(self, blocks: Sequence[PairedBlock]) -> list[float]:
        """What `call_us` is of each block alone; noise may make it negative."""
        part = self._part(blocks)
        costs, _ = self._costs(blocks, part)
        return [
            (part(block.candidate.steps) - cost) / block.calls
            for block, cost in zip(blocks, costs, strict=True)
        ]

    def claimed_us(self, blocks: Sequence[PairedBlock]) -> float:
        """Microseconds per call by the events: their mean, as one call may do the work of many."""
        return fmean(us for block in blocks for us in block.candidate.events_us)

    def resolves(self, blocks: Sequence[PairedBlock]) -> bool:
        """Whether calls are long enough for this clock."""
        return self.call_us(blocks) > self._estimate(blocks, _run_us).slack_us

    def slower_us(self, blocks: Sequence[PairedBlock]) -> float:
        """Microseconds per call by whatever says the most: the events, the mean by the judge's
        clock, or its median over blocks where the mean is blind.
        """
        typical = [one.outside_us for one in self._medians(blocks)]
        return max(self.call_us(blocks), self.claimed_us(blocks), *typical)

    def disagreement(self, blocks: Sequence[PairedBlock]) -> str | None:
        """Why the claimed times cannot be believed, or None if both clocks agree, or would if the
        calls only wait for the device.
        """
        return self._disagreement(blocks, allowed_us=self._waiting_us(blocks))

    def may_only_wait(self, blocks: Sequence[PairedBlock]) -> bool:
        """Whether the clocks disagree, but by no more than they might if calls only wait."""
        return (
            self.disagreement(blocks) is None
            and self._disagreement(blocks, allowed_us=0.0) is not None
        )

    def seems_longer(self, blocks: Sequence[PairedBlock]) -> bool:
        """Whether calls take longer than is claimed, if this clock's noise is left out."""
        claimed = self.claimed_us(blocks)
        return any(one.without_noise.exceeds(claimed) for one in self._means(blocks))

    def _disagreement(self, blocks: Sequence[PairedBlock], *, allowed_us: float) -> str | None:
        claimed = self.claimed_us(blocks)
        run, total = self._means(blocks)
        if any(one.exceeds(claimed, allowed_us=allowed_us) for one in (run, total)):
            return (
                f"the clocks disagree: a call took {self.call_us(blocks):.4g} us by the judge's "
                f"clock, {claimed:.4g} us by the CUDA events of the candidate's process"
            )
        if claimed > _SLACK * run.outside_us + run.slack_us:
            return (
                f"the CUDA events of the candidate's process count {claimed:.4g} us for a call "
                f"that took {max(0.0, run.outside_us):.4g} us by the judge's clock"
            )
        medians = self._medians(blocks)
        # Blocks that were interrupted say too little of what waiting costs: nothing is allowed.
        if any(one.exceeds(claimed) for one in medians):
            seen_us = max(one.outside_us for one in medians)
            return (
                f"the clocks disagree: in most blocks a call took {seen_us:.4g} us by the judge's "
                f"clock, {claimed:.4g} us by the CUDA events of the candidate's process"
            )
        return None

    def too_noisy(self, blocks: Sequence[PairedBlock]) -> str | None:
        """Why this clock is too noisy to detect a lie that matters; None if it is not.

        It is if the host is so busy that blocks vary by half of the claimed time of a call, and by
        twice the slack: with a slow baseline, much could then hide behind a small claim. The mean
        over blocks may be so noisy if their median is not.
        """
        claimed = self.claimed_us(blocks)
        noise_us = self._estimate(blocks, _run_us).noise_us
        if noise_us > self._most_noise_us(claimed) and self._alike(blocks):
            noise_us = min(noise_us, self._median(blocks, _run_us).noise_us)
        if noise_us <= self._most_noise_us(claimed):
            return None
        return (
            "the judge's clock was too unsteady to check the events (it varies by "
            f"{noise_us:.4g} us a call, which they say takes {claimed:.4g} us): is the machine "
            "busy with something else?"
        )

    def worst_block(self, blocks: Sequence[PairedBlock]) -> int:
        """Index of the block that is farthest from what its events claim."""

        def off_us(block: PairedBlock) -> float:
            apart = block.candidate.steps.total_us - block.baseline.steps.total_us
            return abs(apart - sum(block.candidate.events_us) + sum(block.baseline.events_us))

        return max(range(len(blocks)), key=lambda index: off_us(blocks[index]))

    def _waiting_us(self, blocks: Sequence[PairedBlock]) -> float:
        """What a call that waits costs beyond the overhead; 0 if too few blocks say so.

        The lower quartile over blocks, so that noise is no cost. The overhead beside a baseline
        that waits itself has that cost already.
        """
        costs, _ = self._costs(blocks, _run_us)
        each = [
            (block.waiting_us - cost_us) / block.calls
            for block, cost_us in zip(blocks, costs, strict=True)
            if block.waiting_us is not None
        ]
        if len(each) < _WAITED_BLOCKS:
            return 0.0
        return min(max(0.0, float(np.quantile(each, _LOW_QUANTILE))), _MOST_WAITING_US)

    def _most_noise_us(self, claimed_us: float) -> float:
        return max(_BLIND_SHARE * claimed_us, _BLIND_SLACKS * self.slack_us)

    def _alike(self, blocks: Sequence[PairedBlock]) -> bool:
        """Whether there are enough blocks for their median, and calls claim to take as long in all
        of them: a speedup is the blocks' geometric mean, which few of them could lower otherwise.
        """
        typical_us = median(us for block in blocks for us in block.candidate.events_us)
        uneven = self.claimed_us(blocks) > _UNEVEN * typical_us + self.slack_us
        if len(blocks) < _MEDIAN_BLOCKS or uneven:
            return False
        claims = [median(block.candidate.events_us) for block in blocks]
        return median(claims) <= _SLACK * geometric_mean(claims) + self.slack_us

    def _means(self, blocks: Sequence[PairedBlock]) -> tuple[_Estimate, _Estimate]:
        """The estimates from the calls alone and from all steps, over all blocks."""
        return self._estimate(blocks, _run_us), self._total(blocks, self._estimate)

    def _medians(self, blocks: Sequence[PairedBlock]) -> tuple[_Estimate, ...]:
        """The estimates from the blocks' median, where their mean is blind; else none."""
        noise_us = self._estimate(blocks, _run_us).noise_us
        if noise_us <= self._most_noise_us(self.claimed_us(blocks)) or not self._alike(blocks):
            return ()
        return self._median(blocks, _run_us), self._total(blocks, self._median)

    def _part(self, blocks: Sequence[PairedBlock]) -> Part:
        """The step that counts: the calls alone, or all steps if these show more."""
        run, total = self._means(blocks)
        if total.exceeds(self.claimed_us(blocks)) and total.outside_us > run.outside_us:
            return _total_us
        return _run_us

    def _total(
        self, blocks: Sequence[PairedBlock], estimate: Callable[..., _Estimate]
    ) -> _Estimate:
        """The estimate from all steps, copies before and after the calls included."""
        view = estimate(blocks, _total_us)
        calls = sum(block.calls for block in blocks)
        copies = sum(block.baseline.steps.copies_us for block in blocks) / calls
        return _Estimate(view.outside_us, view.slack_us + _COPY_SLACK * copies, view.noise_us)

    def _estimate(self, blocks: Sequence[PairedBlock], part: Part) -> _Estimate:
        calls = sum(block.calls for block in blocks)
        costs, spared_us = self._costs(blocks, part)
        took = sum(part(block.candidate.steps) for block in blocks)
        error = residual_std_us([block.calls for block in blocks], costs) * math.sqrt(
            2 * len(blocks)
        )
        noise_us = _STANDARD_ERRORS * error / calls
        slack_us = self.slack_us + noise_us + _SPARED_SLACK * spared_us / calls
        return _Estimate((took - sum(costs)) / calls, slack_us, noise_us)

    def _median(self, blocks: Sequence[PairedBlock], part: Part) -> _Estimate:
        """The estimate from the blocks' median of what the events do not show.

        Its noise is its own, or what the median would vary by of the baseline's overhead from one
        block to the next, if that is less: a candidate could add to the first. Both are read off
        the order of the values, so that it does not matter how long an interruption is.
        """
        calls = [block.calls for block in blocks]
        costs, spared_us = self._costs(blocks, part)
        unseen = [
            part(block.candidate.steps) - sum(block.candidate.events_us) - cost
            for block, cost in zip(blocks, costs, strict=True)
        ]
        each = np.divide(unseen, calls)
        steps = np.diff(_residuals(calls, costs) / calls)
        noise_us = min(_median_error(each), _median_error(steps))
        slack_us = self.slack_us + noise_us + _SPARED_SLACK * spared_us / sum(calls)
        outside_us = self.claimed_us(blocks) + float(np.median(each))
        return _Estimate(outside_us, slack_us, noise_us)

    def _costs(self, blocks: Sequence[PairedBlock], part: Part) -> tuple[list[float], float]:
        """What each block's calls cost beyond themselves, and what all are spared in that beside
        the baseline's.

        It lies between what idle calls and the baseline's cost, in proportion to how long a call is
        by the events: too short a claim makes it too small, so that a lie is seen sooner.
        """
        costs = [part(block.baseline.steps) - sum(block.baseline.events_us) for block in blocks]
        idle = [block.idle_us for block in blocks if block.idle_us is not None]
        if len(idle) < len(blocks):
            return costs, 0.0
        longer = [
            block.baseline.steps.run_us - sum(block.baseline.events_us) - idle_us
            for block, idle_us in zip(blocks, idle, strict=True)
        ]
        baseline_us = fmean(us for block in blocks for us in block.baseline.events_us)
        share = max(0.0, 1.0 - self.claimed_us(blocks) / baseline_us)
        if sum(longer) <= 0 or share == 0:
            return costs, 0.0
        spared = [share * more for more in longer]
        return [cost - less for cost, less in zip(costs, spared, strict=True)], sum(spared)


def residual_std_us(calls: Sequence[int], costs_us: Sequence[float]) -> float:
    """Standard deviation of the blocks' overhead about a line over their number of calls.

    About their mean if all have the same number of calls; 0 if there are too few blocks.
    """
    freedom = len(calls) - _order(calls) - 1
    if freedom < 1:
        return 0.0
    return float(np.sqrt(np.square(_residuals(calls, costs_us)).sum() / freedom))


def _order(calls: Sequence[int]) -> int:
    return 1 if len(set(calls)) > 1 else 0


def _residuals(calls: Sequence[int], costs_us: Sequence[float]) -> NDArray[np.float64]:
    order = _order(calls)
    fitted = np.polyval(np.polyfit(calls, costs_us, order), calls)
    residuals: NDArray[np.float64] = np.subtract(costs_us, fitted)
    return residuals


def _median_error(values: NDArray[np.float64]) -> float:
    """How far a median may be off, by `_STANDARD_ERRORS` of its rank: the greater side of its
    distribution-free interval (David and Nagaraja, Order Statistics, 2003, chapter 7).
    """
    ordered = np.sort(values)
    reach = _STANDARD_ERRORS * math.sqrt(len(ordered)) / 2
    low = max(0, math.floor(len(ordered) / 2 - reach))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + reach))
    middle = np.median(ordered)
    return float(max(middle - ordered[low], ordered[high] - middle))
