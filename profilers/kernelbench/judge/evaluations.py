"""Makes an evaluation of a candidate's session, however that ended."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from mcts.domain import Build, Candidate, Evaluation, Refusal, Timing
from mcts.search.seeding import seed_from
from mcts.statistics import (
    detectable_effect,
    median_blocked,
    speedup_blocked,
    widened,
)
from profilers.children.processes import ChildGone
from profilers.children.protocol import RequestRefused
from profilers.kernelbench.judge.outside_clock import OutsideClock
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.timing import BlockTimes
from profilers.kernelbench.judge.verdicts import cheat_of

_FLOOR_FACTOR = 0.85
_UNEVEN = 1.1
_UNEVEN_US = 1.0
_HINDERED = 1.25
_HINDERED_US = 5.0
_ENOUGH_BLOCKS = 6
# Seen on an H200, models against themselves: up to 0.6 us off at 15 us, 0.15 % at 3 ms and more.
_PLACEMENT_US = 0.7
_PLACEMENT_SHARE = 0.002
_WAITS = (
    "a call took {seen:.4g} us by the judge's clock, whose time is reported, and {claimed:.4g} us "
    "by the events of its process; a call that waits for the device may take that much longer"
)
_LATE = (
    "its outputs are right only once the whole device has been waited for: work goes on in a "
    "stream that the caller's does not wait for; join it "
    "(torch.cuda.current_stream().wait_stream(...)) before returning"
)


@dataclass(slots=True)
class Attempt:
    """One attempt to judge a candidate; `session` is None until one has begun."""

    session: CandidateSession | None = None

    @property
    def build(self) -> Build | None:
        return self.session.build if self.session is not None else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.session.tally.notes) if self.session is not None else ()

    @property
    def doing(self) -> str:
        return self.session.doing if self.session is not None else "being built"


def timed_evaluation(
    candidate: Candidate,
    session: CandidateSession,
    times: BlockTimes,
    *,
    baseline: str,
    floor_us: float,
    usual_us: float | None,
    least_us: float | None,
) -> Evaluation:
    """The evaluation of a candidate whose results are right: measured, or a suspect timing.

    `usual_us` is what the baseline takes without a candidate beside it, in its slowest block: on a
    slow CPU core a model of many small kernels takes longer, and no candidate is to blame.
    `least_us` is the least time that the roofline allows.
    """
    clock = OutsideClock(slack_us=session.settings.clock_slack_us)
    times = without_disturbed_block(times, clock)
    reason = clock.disagreement(times.blocks) or clock.too_noisy(times.blocks)
    waits = clock.may_only_wait(times.blocks)
    if session.tally.late:
        reason = _LATE + (f". {reason}" if reason else "")
    doubted = waits or reason is not None
    timing = timing_of(
        candidate, times, clock, baseline=baseline, doubted=doubted, least_us=least_us
    )
    if waits and reason is None:
        session.tally.notes.append(
            _WAITS.format(seen=timing.median_us, claimed=clock.claimed_us(times.blocks))
        )
    if reason is None and timing.median_us < _FLOOR_FACTOR * floor_us:
        reason = (
            f"{timing.median_us:.4g} us is faster than this device can read the inputs and write "
            f"the outputs once ({floor_us:.4g} us)"
        )
    if reason is None and usual_us and timing.baseline_us > _HINDERED * usual_us + _HINDERED_US:
        reason = (
            f"the baseline took {timing.baseline_us:.4g} us beside it and {usual_us:.4g} us before "
            "it came: something hinders the baseline"
        )
    elif (
        reason is None
        and timing.speedup_high > session.settings.widest_interval * timing.speedup_low
    ):
        reason = (
            f"it is {timing.speedup_low:.2g} to {timing.speedup_high:.2g} times as fast, which "
            "says nothing: from block to block its calls take a multiple of the time"
        )
    elif reason is not None and timing.host_us is not None:
        reason += f"; by the slower clock it is {timing.speedup:.2f}x"
    if reason is None and not waits and uneven(times.candidate):
        session.tally.notes.append("its calls take unequal times: their mean is reported")
    late = Refusal(cheat="side_stream", evidence=_LATE) if session.tally.late else None
    return Evaluation(
        candidate_id=candidate.id,
        status="measured" if reason is None else "suspect",
        message=reason or "",
        refusal=late,
        build=session.build,
        verification=session.tally.verification(),
        timing=timing,
    )


def without_disturbed_block(times: BlockTimes, clock: OutsideClock) -> BlockTimes:
    """`times` without one block, if the clocks disagree over that block alone.

    The host was busy, or the candidate cheated once; either way the block does not count.
    """
    if times.processes > 1 or len(times.blocks) < _ENOUGH_BLOCKS:
        return times
    rest = times.without(clock.worst_block(times.blocks))
    if clock.disagreement(times.blocks) is None or clock.disagreement(rest.blocks) is not None:
        return times
    return rest


def placement_uncertainty(time_us: float) -> float:
    """Relative uncertainty (95 %) of one pair of processes, due to where data happens to lie.

    Blocks of one process share its placement, so their spread does not show it. Several pairs of
    processes do, and need no allowance.
    """
    return min(1.0, math.hypot(_PLACEMENT_SHARE, _PLACEMENT_US / time_us))


def timing_of(
    candidate: Candidate,
    times: BlockTimes,
    clock: OutsideClock,
    *,
    baseline: str,
    doubted: bool,
    least_us: float | None,
) -> Timing:
    """The timing from event times; if they are `doubted`, from the slower clock.

    If calls are uneven, a block counts as its mean, and so it does by the slower clock; their
    typical time is then the mean of all calls. `host_us` is None if calls are too short for the
    judge's clock.
    """
    seed = seed_from("timing", candidate.id)
    host_us = clock.call_us(times.blocks)
    own = times.candidate
    if doubted:
        own = _by_the_slower_clock(times, clock)
    elif uneven(own):
        own = _all_alike(own, clock.claimed_us(times.blocks))
    typical = median_blocked(own, seed=seed)
    speedup = speedup_blocked(times.baseline, own, seed=seed)
    if times.processes == 1:
        speedup = widened(speedup, relative=placement_uncertainty(typical.point))
    before = [us for block in times.baseline for us in block]
    return Timing(
        median_us=typical.point,
        low_us=typical.low,
        high_us=typical.high,
        baseline_us=median_blocked(times.baseline, seed=seed).point,
        speedup=speedup.point,
        speedup_low=speedup.low,
        speedup_high=speedup.high,
        rounds=len(before),
        host_us=host_us if clock.resolves(times.blocks) else None,
        detectable=detectable_effect(times.baseline, own),
        baseline=baseline,
        least_us=least_us,
        samples_us=tuple(us for block in own for us in block),
        baseline_samples_us=tuple(before),
    )


def uneven(blocks: Sequence[Sequence[float]]) -> bool:
    """Whether the mean of all calls is well above what would be reported of them.

    Both clocks are compared by the mean, so that a call could claim what another one takes more.
    """
    typical_us = median_blocked(blocks, seed=0).point
    return fmean(itertools.chain(*blocks)) > _UNEVEN * typical_us + _UNEVEN_US


def _by_the_slower_clock(times: BlockTimes, clock: OutsideClock) -> tuple[tuple[float, ...], ...]:
    """Each call at what its block took a call by the judge's clock, a pair of processes being one
    block if there are several.

    A block at less than half of all is taken at half: where many are, the clock is too noisy.
    """
    us = clock.slower_us(times.blocks)
    each = iter(
        took_us
        for block, took_us in zip(times.blocks, clock.block_times_us(times.blocks), strict=True)
        for _ in range(block.calls)
    )
    rows = [tuple(itertools.islice(each, len(row))) for row in times.candidate]
    return _all_alike([(max(fmean(row), us / 2),) * len(row) for row in rows], us)


def _all_alike(blocks: Sequence[Sequence[float]], us: float) -> tuple[tuple[float, ...], ...]:
    """Each call at its block's mean, scaled so that the typical time is `us`."""
    means = [fmean(block) for block in blocks]
    scale = us / geometric_mean(means)
    return tuple((scale * mean,) * len(block) for mean, block in zip(means, blocks, strict=True))


def refused_evaluation(candidate: Candidate, refusal: Refusal, attempt: Attempt) -> Evaluation:
    """The evaluation of a candidate that cheats, by evidence."""
    session = attempt.session
    checked = session.tally.verification() if session is not None and session.tally.rounds else None
    return Evaluation(
        candidate_id=candidate.id,
        status="refused",
        message=refusal.evidence,
        build=attempt.build,
        verification=checked,
        refusal=refusal,
    )


def failed_request_evaluation(
    candidate: Candidate, refused: RequestRefused, attempt: Attempt
) -> Evaluation:
    """The evaluation of a candidate whose worker refused a request, and why."""
    text = str(refused)
    if cheat := cheat_of(refused.kind):
        return refused_evaluation(candidate, Refusal(cheat=cheat, evidence=text), attempt)
    if refused.kind == "compile":
        return Evaluation(
            candidate_id=candidate.id,
            status="compile_failed",
            message=text,
            build=attempt.build or Build(log=text),
        )
    if refused.kind == "internal":
        # The harness broke in a process that the candidate can reach: that is its fault.
        text = f"its process broke: {text}"
    return Evaluation(
        candidate_id=candidate.id,
        status="runtime_error",
        message=f"while {attempt.doing}: {text}",
        build=attempt.build,
    )


def late_evaluation(candidate: Candidate, seconds: float, attempt: Attempt) -> Evaluation:
    """The evaluation of a candidate of which there was no verdict within so many seconds."""
    return Evaluation(
        candidate_id=candidate.id,
        status="timed_out",
        message=f"no verdict within {seconds:.0f} s (--verdict-within): it was still "
        f"{attempt.doing} then",
        build=attempt.build,
    )


def lost_worker_evaluation(candidate: Candidate, gone: ChildGone, attempt: Attempt) -> Evaluation:
    """The evaluation of a candidate whose worker hung or died."""
    doing = attempt.doing
    if gone.hung:
        text = f"did not finish {doing}: {gone}; an endless loop, a deadlock, or far too slow"
    else:
        text = f"its process died while {doing}: {gone}. {gone.output[-500:]}"
    return Evaluation(
        candidate_id=candidate.id,
        status="timed_out" if gone.hung else "runtime_error",
        message=text.strip(),
        build=attempt.build,
    )
