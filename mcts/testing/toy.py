"""A small world in memory: a task whose times follow a formula, and ports that answer from it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

from mcts.domain import (
    Candidate,
    Evaluation,
    Guidance,
    Hardware,
    KernelTask,
    Profile,
    Timing,
    Tunable,
    TunableSpace,
    Verification,
    Workload,
)
from mcts.errors import NoMoves, WorldError
from mcts.ports import Advisor, Evaluator, Event, Journal, Proposal, ProposalRequest, Proposer

VALUES = (1, 2, 4, 8, 16, 32)
SPACE = TunableSpace(
    tunables={name: Tunable(values=VALUES, default=1) for name in ("BLOCK", "TILE", "UNROLL")}
)


def toy_task() -> KernelTask:
    baseline = Candidate(tunables=SPACE.default())
    workload = Workload(name="main", shape={"n": 1024})
    return KernelTask(
        name="toy", dialect="space", baseline=baseline, workloads=(workload,), space=SPACE
    )


def toy_time_us(tunables: Mapping[str, Any]) -> float | None:
    """A time with an interaction between tunables, or None where the variant fails."""
    block, tile, unroll = (int(tunables[name]) for name in ("BLOCK", "TILE", "UNROLL"))
    if block * tile * unroll > 4096:
        return None
    return 100.0 / math.sqrt(block) + 60.0 / tile + abs(unroll - 4) * 3.0 + block * tile / 32


class ToyEvaluator(Evaluator):
    """Times by formula; `fail_world_at` lists calls (from 1) at which the world breaks."""

    name = "toy"
    hardware = Hardware(name="toy device")

    def __init__(self, *, fail_world_at: frozenset[int] = frozenset()) -> None:
        self.task = toy_task()
        self.calls: list[str] = []
        self._fail_world_at = fail_world_at
        self._count = 0

    def evaluate(self, candidate: Candidate) -> Evaluation:
        self._count += 1
        if self._count in self._fail_world_at:
            raise WorldError("the GPU has fallen off the bus")
        self.calls.append(candidate.id)
        time_us, baseline_us = toy_time_us(candidate.tunables), toy_time_us(SPACE.default())
        if time_us is None or baseline_us is None:
            return Evaluation(
                candidate_id=candidate.id, status="runtime_error", message="too many resources"
            )
        speedup = baseline_us / time_us
        timing = Timing(
            median_us=time_us,
            low_us=time_us * 0.999,
            high_us=time_us * 1.001,
            baseline_us=baseline_us,
            speedup=speedup,
            speedup_low=speedup * 0.998,
            speedup_high=speedup * 1.002,
            rounds=10,
        )
        return Evaluation(
            candidate_id=candidate.id,
            status="measured",
            verification=Verification(passed=True, rounds=3),
            timing=timing,
        )

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return Profile(missing={"counters": "the toy has none"})

    def close(self) -> None:
        pass


class ToyProposer(Proposer):
    """One random step in one tunable; `inline` as the test wants it."""

    name = "toy"

    def __init__(self, *, inline: bool = True) -> None:
        self.inline = inline

    def propose(self, request: ProposalRequest) -> Proposal:
        rng = random.Random(request.seed)
        steps = [
            Candidate(
                tunables={**request.parent.tunables, name: value}, methods=(f"toy.{name.lower()}",)
            )
            for name, tunable in request.task.space.tunables.items()
            for value in tunable.values
            if value != request.parent.tunables[name]
        ]
        fresh = [step for step in steps if step.id not in request.tried]
        if not fresh:
            raise NoMoves("all neighbours were tried")
        return Proposal(candidate=rng.choice(fresh), prior=0.5)


class SilentAdvisor(Advisor):
    def advise(self, task: KernelTask, evaluation: Evaluation) -> Guidance:
        return Guidance(notes=(f"status {evaluation.status}",))


class MemoryJournal(Journal):
    """Events in a list; after `kill_after` further appends it raises `error` instead: by default
    the process is killed, as it were.
    """

    def __init__(
        self,
        events: tuple[Event, ...] = (),
        kill_after: int | None = None,
        error: type[BaseException] | None = None,
    ) -> None:
        self._events = list(events)
        self._error = error or Killed
        self._kill_at = None if kill_after is None else len(self._events) + kill_after

    def append(self, kind: str, payload: Mapping[str, Any]) -> Event:
        if self._kill_at is not None and len(self._events) >= self._kill_at:
            raise self._error
        event = Event(len(self._events) + 1, kind, payload)
        self._events.append(event)
        return event

    def events(self) -> Iterator[Event]:
        return iter(tuple(self._events))


class Killed(BaseException):
    """Stands for SIGKILL: nobody catches it."""
