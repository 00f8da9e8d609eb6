"""Timing in blocks: before each block both programs are reloaded and the buffers move.

A block is a handful of rounds. In a round, baseline and candidate run once each, in random order,
on inputs that were drawn on the device for that round alone, at addresses that change from call to
call; then their outputs are compared. Whatever a kernel could keep from one call, in its globals or
anywhere else, is useless in the next. Effects of the placement of code and buffers differ between
blocks, so that they enter the interval of the result.

Several workloads, each with its own buffer sets, take turns, a block of each: a drift of the device
affects all of them alike, and all have the same number of blocks.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcts.statistics import blocked_half_width
from profilers.launching.memory import ITEM_BYTES, DeviceCase, DeviceOutput, TypedRegion
from profilers.launching.programs import PreparedCall, Region, ReloadableProgram
from profilers.launching.sealing import fresh_key
from profilers.launching.session import DeviceSession

_WARM_UP_FLUSHES = 64  # some milliseconds of traffic, so that an idle device raises its clocks
_LAUNCHES_PER_FLUSH = 8
_ALIGN = 512
_SLACK = 64 * 2**10  # how far a buffer may move between blocks
_MOST_SETS = 3
_LONG_US, _SLOW_US = 5_000.0, 20_000.0
_BOTH = 2.0  # both sides may be off by the tolerance


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """How long to measure; `half_width` is the relative precision that is enough.

    A call over 5 ms is timed in half the rounds per block, one over 20 ms once in `slow_blocks`.
    """

    min_blocks: int
    max_blocks: int
    slow_blocks: int
    rounds: int
    half_width: float
    budget_s: float
    seed: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TimingPlan:
        return cls(**data)

    def rounds_of(self, slowest_us: float) -> int:
        """The number of rounds in a block, given the time of the slower program."""
        if slowest_us > _SLOW_US:
            return 1
        return max(1, self.rounds // 2) if slowest_us > _LONG_US else self.rounds

    def blocks_of(self, slowest_us: float) -> int:
        """The least number of blocks."""
        return min(self.slow_blocks, self.min_blocks) if slowest_us > _SLOW_US else self.min_blocks


class BufferSets:
    """Sets of the task's buffers that calls take turns in, laid out differently each time.

    `buffers` has each buffer's name, role, dtype, fill and number of elements. There are three
    sets if these leave half of the free memory to candidates, or else two. If there are several
    workloads, each has a `name` and a `share` of that memory.
    """

    def __init__(
        self,
        session: DeviceSession,
        buffers: Sequence[Mapping[str, Any]],
        *,
        name: str,
        share: float = 1.0,
    ) -> None:
        self._session = session
        self._buffers = buffers
        size = buffer_set_bytes(_bytes(buffer) for buffer in buffers)
        count = _MOST_SETS if 2 * _MOST_SETS * size < share * session.context.free_bytes() else 2
        self._arenas = [
            session.memory.get(f"timing/{name}/{number}", size) for number in range(count)
        ]

    def lay_out(self, order: random.Random) -> list[DeviceCase]:
        """One case per set, at new addresses; its expected outputs are not known yet."""
        return [self._case(arena, order) for arena in self._arenas]

    def fill(self, case: DeviceCase, seeds: Mapping[str, int]) -> None:
        """Enqueue the kernels that draw the inputs of a case."""
        for buffer in self._buffers:
            if buffer["role"] == "input":
                region = case.inputs[buffer["name"]]
                seed = seeds[buffer["name"]]
                self._session.fill_random(region, buffer["dtype"], buffer["fill"], seed=seed)

    def seeds(self) -> dict[str, int]:
        """Fresh secret seeds, one for every input."""
        return {item["name"]: secrets.randbits(64) for item in self._buffers}

    def _case(self, arena: Region, order: random.Random) -> DeviceCase:
        inputs: dict[str, Region] = {}
        outputs: dict[str, DeviceOutput] = {}
        at = arena.pointer
        for buffer in self._buffers:
            size = _bytes(buffer)
            region = Region(at + _ALIGN * order.randrange(_SLACK // _ALIGN), size)
            at += _rounded(size) + _SLACK
            if buffer["role"] == "input":
                inputs[buffer["name"]] = region
            else:
                view = TypedRegion(region, buffer["dtype"])
                outputs[buffer["name"]] = DeviceOutput(view, view, buffer["elements"])
        return DeviceCase(inputs=inputs, outputs=outputs)


class Stopwatch:
    """Times single calls, each with a cold L2 and poisoned outputs."""

    def __init__(self, session: DeviceSession) -> None:
        self._session = session
        self._first, self._last = session.context.event(), session.context.event()

    def enqueue(self, call: PreparedCall, poisoned: Sequence[Region]) -> None:
        """Enqueue poison, flush and the call between two events.

        The flush keeps the device busy while the host enqueues what follows, so that no gap
        between launches enters the time.
        """
        session = self._session
        session.poison(poisoned)
        for _ in range(1 + call.steps // _LAUNCHES_PER_FLUSH):
            session.flush()
        session.context.record(self._first)
        call.enqueue()
        session.context.record(self._last)

    def us(self) -> float:
        """Microseconds of the call last enqueued, once it has run."""
        # The clock behind events ticks; a call below one tick still took some time.
        return max(self._last.us_since(self._first), 1e-3)


class BlockTimer:
    """Baseline and candidate, timed against each other on buffer sets, block by block.

    `workload` is the one that is timed; `tolerance` the task's (relative, absolute); `order` the
    source of randomness.
    """

    def __init__(
        self,
        session: DeviceSession,
        buffer_sets: BufferSets,
        contenders: tuple[ReloadableProgram, ReloadableProgram],
        *,
        workload: str,
        tolerance: tuple[float, float],
        order: random.Random,
    ) -> None:
        self._session, self._buffer_sets, self._contenders = session, buffer_sets, contenders
        self._tolerance = (_BOTH * tolerance[0], _BOTH * tolerance[1])
        self._order = order
        self._watch = Stopwatch(session)
        self._turn = 0
        self._calls = [loaded.calls[workload] for loaded in contenders]
        self._workspaces = [
            session.workspaces(call, f"{role}/{workload}")
            for role, call in zip(("baseline", "candidate"), self._calls, strict=True)
        ]
        self._cases: list[DeviceCase] = []
        self._found: list[dict[str, Any]] = []
        self._prepared: list[list[PreparedCall]] = []
        self._blocks: list[dict[str, list[float]]] = []
        self._slowest = 0.0

    def add_block(self, plan: TimingPlan) -> None:
        """Time one more block; it ends early if an output is wrong."""
        self._begin_block()
        if self._slowest <= _LONG_US:
            self._slowest = max(self._slowest, *self._round())  # a first call is no sample
        rounds = [self._round()]
        while len(rounds) < plan.rounds_of(self._slowest) and not self.wrong:
            rounds.append(self._round())
        self._blocks.append(
            {
                "baseline_us": [before for before, _ in rounds],
                "candidate_us": [after for _, after in rounds],
            }
        )

    @property
    def wrong(self) -> bool:
        return any(output["mismatches"] for output in self._found)

    def has_least(self, plan: TimingPlan) -> bool:
        """Whether there are at least as many blocks as the plan requires."""
        return len(self._blocks) >= plan.blocks_of(self._slowest)

    def is_full(self, plan: TimingPlan) -> bool:
        return len(self._blocks) >= plan.max_blocks

    def is_precise(self, plan: TimingPlan) -> bool:
        """Whether both the candidate's time and the ratio are known to `half_width`."""
        return _precise(self._blocks, plan)

    @property
    def answer(self) -> dict[str, Any]:
        """The samples of both programs in microseconds, by block, and the results of
        comparisons."""
        return {"blocks": self._blocks, "outputs": self._found}

    def _begin_block(self) -> None:
        """Reload both programs and move the buffers."""
        session = self._session
        session.context.synchronize()
        programs = [loaded.reload() for loaded in self._contenders]
        self._cases = self._buffer_sets.lay_out(self._order)
        self._prepared = [
            [
                PreparedCall(session.context, program, call, case.regions | workspaces)
                for case in self._cases
            ]
            for program, call, workspaces in zip(
                programs, self._calls, self._workspaces, strict=True
            )
        ]

    def _round(self) -> tuple[float, float]:
        """Run both once, in random order, on the same fresh inputs; their times in microseconds."""
        session, key, seeds = self._session, fresh_key(), self._buffer_sets.seeds()
        session.clear_results()
        slots = [0, 1]
        self._order.shuffle(slots)
        times = [0.0, 0.0]
        views: list[list[TypedRegion]] = [[], []]
        for place, slot in enumerate(slots):
            number = self._turn % len(self._cases)
            self._turn += 1
            case = self._cases[number]
            found = [output.found for output in case.outputs.values()]
            # A persisting line would survive the flush and take cache from whatever runs next.
            session.context.reset_persisting()
            self._buffer_sets.fill(case, seeds)
            poisoned = (*(view.region for view in found), *self._workspaces[slot].values())
            self._watch.enqueue(self._prepared[slot][number], poisoned)
            if place == 0:  # the second program must not find the answer
                found = [view._replace(key=key) for view in found]
                for view in found:
                    session.seal(view)
                session.poison(self._workspaces[slot].values())
            views[slot] = found
            if place == 1:
                self._compare(views)
            session.context.synchronize()
            times[slot] = self._watch.us()
        # Read now, before a candidate runs again and could overwrite them.
        compared = session.results(self._cases[0], values=False)
        self._found = merged(self._found, compared) if self._found else compared
        return times[0], times[1]

    def _compare(self, views: Sequence[Sequence[TypedRegion]]) -> None:
        """Enqueue comparing the candidate's outputs with the baseline's."""
        elements = [output.elements for output in self._cases[0].outputs.values()]
        for slot, (honest, found, count) in enumerate(zip(*views, elements, strict=True)):
            self._session.compare(slot, found, honest, count, self._tolerance)


def measure_in_turn(session: DeviceSession, timers: Sequence[BlockTimer], plan: TimingPlan) -> None:
    """Add blocks to all timers, one of each at a time.

    They go on until all are precise, a limit of the plan is reached (the time budget is that of all
    together), or an output was wrong.
    """
    for _ in range(_WARM_UP_FLUSHES):
        session.flush()
    deadline = time.perf_counter() + plan.budget_s
    while True:
        for timer in timers:
            timer.add_block(plan)
            if timer.wrong:
                return
        if any(timer.is_full(plan) for timer in timers):
            return
        late = time.perf_counter() > deadline
        if all(timer.has_least(plan) for timer in timers) and (
            late or all(timer.is_precise(plan) for timer in timers)
        ):
            return


def merged(
    held: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The combined results of comparisons, output by output; `rounds` is their number."""
    return [_both(before, after) for before, after in zip(held, found, strict=True)]


def _both(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    together = {**after, **({"first": before["first"]} if before["mismatches"] else {})}
    together["rounds"] = before.get("rounds", 1) + after.get("rounds", 1)
    for name in ("mismatches", "nans"):
        together[name] = before[name] + after[name]
    for name in ("max_error", "worst_ratio"):
        known = before[name] is not None and after[name] is not None
        together[name] = max(before[name], after[name]) if known else None
    for name in ("square_error", "square_expected"):
        pairs = zip(before[name], after[name], strict=True)
        together[name] = [one + other for one, other in pairs]
    return together


def _precise(blocks: Sequence[Mapping[str, Sequence[float]]], plan: TimingPlan) -> bool:
    before = [block["baseline_us"] for block in blocks]
    after = [block["candidate_us"] for block in blocks]
    ratios = [
        [b / a for b, a in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)
    ]
    return max(blocked_half_width(after), blocked_half_width(ratios)) < plan.half_width


def buffer_set_bytes(buffers: Iterable[int]) -> int:
    """Bytes of one set of buffers of these sizes, with room for moving them."""
    return sum(_rounded(size) + _SLACK for size in buffers)


def _bytes(buffer: Mapping[str, Any]) -> int:
    return int(buffer["elements"]) * ITEM_BYTES[buffer["dtype"]]


def _rounded(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
