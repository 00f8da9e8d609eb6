"""Timing on the device: baseline and candidate in paired rounds, in random order.

Every call starts from a cold L2 and poisoned outputs, and every timed output is compared with
what is expected there. The flush keeps the device busy while the host enqueues what follows, so
that no launch gap enters the time between the events.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import Any

from profilers import driver
from profilers.programs import Prepared, Region
from profilers.session import Session
from profilers.statistics import relative_half_width

_WARM_UP_CALLS = 2
_WARM_UP_FLUSHES = 64  # some milliseconds of traffic, so that an idle device raises its clocks
_SLOW_US = 20_000.0
_LAUNCHES_PER_FLUSH = 8


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """How long to measure; `half_width` is the relative precision at which it is enough."""

    min_rounds: int
    slow_rounds: int
    max_rounds: int
    half_width: float
    budget_s: float
    batch_us: float
    seed: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TimingPlan:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Contender:
    """A program ready to run on each timed case, with its scratch buffers."""

    calls: tuple[Prepared, ...]
    workspaces: dict[str, Region]


class Stopwatch:
    """Times single cold calls between two events."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events = [session.context.event() for _ in range(4)]

    def enqueue(self, contender: Contender, index: int, slot: int) -> None:
        """Enqueue poison, flush and one timed call on case `index`, its events in `slot`."""
        session, call = self._session, contender.calls[index]
        session.poison(session.cases[index], contender.workspaces)
        for _ in range(1 + call.steps // _LAUNCHES_PER_FLUSH):
            session.flush()
        session.context.record(self._events[2 * slot])
        call.enqueue()
        session.context.record(self._events[2 * slot + 1])

    def us(self, slot: int) -> float:
        """Microseconds of the call last enqueued in `slot`, once it has run."""
        # The clock behind events ticks; a call below one tick still took some time.
        return max(self._events[2 * slot + 1].us_since(self._events[2 * slot]), 1e-3)


def measure(
    session: Session,
    baseline: Contender,
    candidate: Contender,
    tolerance: tuple[float, float],
    plan: TimingPlan,
) -> dict[str, Any]:
    """Samples in microseconds of both, the batch on the host's clock, and the comparisons.

    Rounds go on until both the candidate's time and the ratio are known to `half_width`, or a
    limit of the plan is reached.
    """
    watch = Stopwatch(session)
    slowest = _warm_up(session, watch, (baseline, candidate))
    least = plan.slow_rounds if slowest > _SLOW_US else plan.min_rounds
    order = random.Random(plan.seed)
    # The baseline's outputs are compared too, so that both are preceded by the same work.
    comparisons = [
        [session.comparisons(case, tolerance, group=group) for group in (1, 0)]
        for case in session.cases
    ]
    session.clear_results()
    session.context.synchronize()
    before: list[float] = []
    after: list[float] = []
    deadline = time.perf_counter() + plan.budget_s
    while len(after) < plan.max_rounds:
        index = len(after) % len(session.cases)
        slots = [0, 1]
        order.shuffle(slots)
        for slot in slots:
            watch.enqueue((baseline, candidate)[slot], index, slot)
            for comparison in comparisons[index][slot]:
                comparison.enqueue(session.context.stream)
        session.context.synchronize()
        before.append(watch.us(0))
        after.append(watch.us(1))
        if len(after) >= least and (
            time.perf_counter() > deadline or _precise(before, after, plan.half_width)
        ):
            break
    found = session.results(session.cases[0], values=False)
    batch = _batch(session, candidate.calls[0], min(after), plan.batch_us)
    return {"baseline_us": before, "candidate_us": after, "outputs": found, "batch": batch}


def _warm_up(session: Session, watch: Stopwatch, contenders: tuple[Contender, ...]) -> float:
    slowest = 0.0
    for _ in range(_WARM_UP_FLUSHES):
        session.flush()
    for contender in contenders:
        for _ in range(_WARM_UP_CALLS):
            watch.enqueue(contender, 0, 0)
            session.context.synchronize()
        slowest = max(slowest, watch.us(0))
    return slowest


def _precise(before: list[float], after: list[float], half_width: float) -> bool:
    ratios = [b / a for b, a in zip(before, after, strict=True)]
    return max(relative_half_width(after), relative_half_width(ratios)) < half_width


def _batch(session: Session, call: Prepared, call_us: float, batch_us: float) -> dict[str, Any]:
    """Many calls in a row, between events and between host clock readings."""
    count = min(5000, max(1, math.ceil(batch_us / call_us)))
    first, last = session.context.event(), session.context.event()
    call.enqueue()
    session.context.synchronize()
    begin = time.perf_counter()
    session.context.record(first)
    for _ in range(count):
        call.enqueue()
    session.context.record(last)
    session.context.synchronize()
    host_us = (time.perf_counter() - begin) * 1e6
    return {"calls": count, "host_us": host_us, "event_us": last.us_since(first)}


def median_event_us(session: Session, launch: driver.PreparedLaunch, *, repeats: int) -> float:
    """Median time of one cold launch: for the probes behind the ceilings."""
    first, last = session.context.event(), session.context.event()
    samples = []
    for _ in range(repeats):
        session.flush()
        session.context.record(first)
        launch.enqueue(session.context.stream)
        session.context.record(last)
        session.context.synchronize()
        samples.append(last.us_since(first))
    return sorted(samples)[len(samples) // 2]


def case_call_us(session: Session, call: Prepared) -> float:
    """Run one call to its end and return its microseconds."""
    first, last = session.context.event(), session.context.event()
    session.context.record(first)
    call.enqueue()
    session.context.record(last)
    session.context.synchronize()
    return last.us_since(first)
