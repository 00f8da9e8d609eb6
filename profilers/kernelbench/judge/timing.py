"""Times a candidate in paired blocks, by events inside and by the judge's clock outside."""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from mcts.domain import Refusal
from mcts.statistics import Interval, speedup_blocked
from profilers.compiling.building import Failed
from profilers.kernelbench.judge.clients import BaselineClient, WorkerClient
from profilers.kernelbench.judge.outside_clock import (
    BlockSide,
    BlockSteps,
    OutsideClock,
    PairedBlock,
)
from profilers.kernelbench.judge.replies import events_of, outputs_of, problems_of
from profilers.kernelbench.judge.rounds import VerificationRound
from profilers.kernelbench.judge.session import CandidateSession
from profilers.kernelbench.judge.verdicts import Unfaithful, complaint, passes, too_far
from profilers.kernelbench.judge.verifying import Verifier


@dataclass(frozen=True, slots=True)
class BlockTimes:
    """Paired samples in microseconds, block by block, and the blocks behind them.

    `processes` is how many pairs of fresh processes they come from.
    """

    baseline: tuple[tuple[float, ...], ...]
    candidate: tuple[tuple[float, ...], ...]
    blocks: tuple[PairedBlock, ...]
    processes: int = 1

    def without(self, block: int) -> BlockTimes:
        """The same without one block, for a single pair of processes."""

        def rest(blocks: Sequence[Any]) -> tuple[Any, ...]:
            return (*blocks[:block], *blocks[block + 1 :])

        return BlockTimes(rest(self.baseline), rest(self.candidate), rest(self.blocks))

    @classmethod
    def pooled(cls, each: Sequence[BlockTimes]) -> BlockTimes:
        """Make one block of each pair of processes, so that the interval covers them all."""
        if len(each) == 1:
            return each[0]
        return cls(
            baseline=tuple(tuple(us for block in one.baseline for us in block) for one in each),
            candidate=tuple(tuple(us for block in one.candidate for us in block) for one in each),
            blocks=tuple(block for one in each for block in one.blocks),
            processes=len(each),
        )


class PairedTimer:
    """Times a session's candidate against its baseline. Raises what the session's methods raise."""

    def __init__(self, session: CandidateSession, verifier: Verifier) -> None:
        self._session, self._verifier = session, verifier
        self._seems_longer = False

    def time(self) -> BlockTimes:
        """Blocks of paired calls: both models on fresh inputs, in random order.

        If weights may change, they do so before some of the blocks, because a candidate that caches
        results of the weights may refresh them only while it is verified. If the judge's clock is
        then still too noisy, more blocks follow, up to `steady_blocks`: inputs of gigabytes allow
        one call per block, and a block's overhead varies by a millisecond. More blocks follow for a
        while if the clocks disagree as well: with few blocks, four standard errors are exceeded by
        chance about once in a hundred times (Student's t), but a lie is found again. So they do if
        the speedup's interval is so wide that it says nothing.
        """
        self._session.cores.draw()
        try:
            return self._blocks()
        finally:
            self._session.release_cores()

    def _blocks(self) -> BlockTimes:
        settings = self._session.settings
        clock = OutsideClock(slack_us=settings.clock_slack_us)
        self._session.doing = "being timed"
        renewals = self._renewals()
        baseline: list[tuple[float, ...]] = []
        candidate: list[tuple[float, ...]] = []
        blocks: list[PairedBlock] = []
        most = self._most_calls()
        exact = random.SystemRandom().sample(range(settings.least_blocks), 2)
        begin = time.monotonic()
        for number in range(max(settings.blocks, settings.steady_blocks)):
            if number in renewals:
                self._verifier.verify_one(renewals[number])
                self._session.tally.conclude()
            calls = random.SystemRandom().randint(max(1, most // 3), most)
            before, paired = self._block(calls, exactly=number in exact)
            baseline.append(before)
            candidate.append(paired.candidate.events_us)
            blocks.append(paired)
            self._seems_longer = clock.seems_longer(blocks)
            if len(blocks) < settings.least_blocks:
                continue
            seconds = time.monotonic() - begin
            found = speedup_blocked(baseline, candidate, seed=len(baseline))
            enough = (
                len(blocks) >= settings.blocks
                or seconds > settings.time_budget_s
                or (found.high - found.low) / 2 / found.point < settings.half_width
            )
            if enough and self._settled(clock, blocks, found, seconds=seconds):
                break
        return BlockTimes(tuple(baseline), tuple(candidate), tuple(blocks))

    def _most_calls(self) -> int:
        """Most calls in a block, by a call that is not the first of all, which sets things up: a
        library's handles and kernels, for some milliseconds.
        """
        settings, room = self._session.settings, self._session.layout.calls
        most = settings.most_calls(room, call_us=max(self._block(1)[0]))
        if most < room:
            most = max(most, settings.most_calls(room, call_us=max(self._block(1)[0])))
        return most

    def _settled(
        self,
        clock: OutsideClock,
        blocks: list[PairedBlock],
        speedup: Interval,
        *,
        seconds: float,
    ) -> bool:
        """Whether enough was seen after so many seconds, by the judge's clock as well."""
        if clock.too_noisy(blocks) is not None:
            return False
        doubtful = speedup.high > self._session.settings.widest_interval * speedup.low or (
            clock.disagreement(blocks) is not None
        )
        return not doubtful or seconds > self._session.settings.doubt_budget_s

    def _renewals(self) -> dict[int, VerificationRound]:
        """The blocks before which the weights change, drawn at random."""
        if self._session.frozen_weights:
            return {}
        blocks = random.SystemRandom().sample(range(self._session.settings.least_blocks), 2)
        kinds = (
            VerificationRound("given", weights="new"),
            VerificationRound("given", weights="partly new"),
        )
        return dict(zip(blocks, kinds, strict=True))

    def _block(self, calls: int, *, exactly: bool = False) -> tuple[tuple[float, ...], PairedBlock]:
        """Time one block on both sides; outputs are compared, one of them in float64 if `exactly`.

        Returns the baseline's times as well: its worker's, or those of the compiled model.
        """
        first = secrets.randbits(1)
        base = self._baseline_side(calls) if first else None
        side = self._candidate_side(calls, exactly=exactly)
        own, idle_us, waiting_us = base or self._baseline_side(calls)
        before = self._compiled_run(calls) if self._session.settings.compiled else own.events_us
        return before, PairedBlock(side, own, idle_us, waiting_us)

    def _candidate_side(self, calls: int, *, exactly: bool) -> BlockSide:
        worker = self._session.worker
        self._session.cores.turn_of(worker.processes, waiting=self._session.baseline.processes)
        with self._session.drawn(calls) as ids:
            side, fetched = self._side(worker, ids)
            if self._session.tally.late:
                return side  # the outputs are known to be late, so there is nothing to compare
            self._session.raise_for(problems_of(fetched))
            outputs = outputs_of(fetched, calls=calls)
            for comparison in self._comparisons(ids, outputs):
                self._judge_timed(comparison)
            if exactly:
                chosen = random.SystemRandom().randrange(calls)
                self._compare_exactly(ids[chosen], outputs[chosen])
            return side

    def _baseline_side(self, calls: int) -> tuple[BlockSide, float | None, float | None]:
        """Time the baseline on inputs of its own, which the candidate's replace in shared memory.

        Its outputs are compared too: a candidate could write into that memory to slow it down.
        Returns what idle calls take besides, unless one call nearly fills the device, and what
        those take that wait for it, while the candidate's seem longer than its events say.
        """
        baseline = self._session.baseline
        self._session.cores.turn_of(baseline.processes, waiting=self._session.worker.processes)
        with self._session.drawn(calls) as ids:
            side, fetched = self._side(baseline, ids)
            idle_us = waiting_us = None
            if not self._session.layout.in_turns:
                idle_us = self._idle_us(calls)
                waiting_us = self._idle_us(calls, waits=True) if self._seems_longer else None
            if not all(passes(one) for one in self._comparisons(ids, fetched["outputs"])):
                raise Unfaithful(
                    Refusal(
                        cheat="poisons_reference",
                        evidence="the baseline's inputs or outputs were changed in the shared "
                        "memory",
                    )
                )
            return side, idle_us, waiting_us

    def _idle_us(self, calls: int, *, waits: bool = False) -> float:
        """What calls that do nothing, or only wait, take beyond their events, by our clock."""
        limit_s = self._session.batch_s(calls) + self._session.settings.call_deadline_s
        begin = time.perf_counter_ns()
        ran = self._session.baseline.ask("idle", waits=waits, timeout_s=limit_s)
        took_us = (time.perf_counter_ns() - begin) / 1e3
        return took_us - sum(events_of(ran, calls=calls))

    def _side(
        self, worker: WorkerClient | BaselineClient, ids: Sequence[str]
    ) -> tuple[BlockSide, dict[str, Any]]:
        """Time a block from outside: what each step took, the events, and the reply to `fetch`.

        From placing the inputs until the outputs are back, the judge does nothing else.
        """
        limit_s = self._session.batch_s(len(ids)) + self._session.settings.call_deadline_s
        worker.ask("warm", timeout_s=limit_s)
        marks = [time.perf_counter_ns()]
        worker.ask("prepare", calls=self._session.place(ids), timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        ran = worker.ask("run", flush=True, repeats=1, timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        fetched = worker.ask("fetch", at=0, timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        took = [(end - begin) / 1e3 for begin, end in itertools.pairwise(marks)]
        return BlockSide(events_of(ran, calls=len(ids)), BlockSteps(*took)), fetched

    def _compiled_run(self, calls: int) -> tuple[float, ...]:
        """Time the compiled model, which only the oracle has."""
        oracle, cores = self._session.oracle, self._session.cores
        with self._session.drawn(calls) as ids:
            oracle.ask("prepare", ids=ids)
            cores.turn_of(oracle.processes, waiting=self._session.worker.processes)
            oracle.ask("warm")
            events = oracle.ask("run", flush=True)["events_us"]
            cores.release(oracle.processes)
            return tuple(events)

    def _comparisons(self, ids: list[str], outputs: Sequence[Any]) -> list[dict[str, Any]]:
        """Compare outputs of timed calls with those of the oracle's own model, never compiled."""
        self._session.oracle.ask("prepare", ids=ids)
        self._session.oracle.ask("run", flush=False, eager=True)
        compared: list[dict[str, Any]] = self._session.oracle.ask(
            "compare_timed", ids=ids, outputs=list(outputs), k=self._session.settings.error_factor,
            tolerance=[self._session.tolerance.relative, self._session.tolerance.absolute],
        )["calls"]  # fmt: skip
        return compared

    def _compare_exactly(self, name: str, outputs: Any) -> None:
        """Compare a timed call with float64, whether it differs from the baseline's or not."""
        expected = self._session.oracle.ask("expect", id=name)
        comparison = self._session.compared(name, outputs) | {"exact": True}
        factor = self._session.error_factor(centred=expected["centred"])
        self._judge_timed(comparison, error_factor=factor)

    def _judge_timed(
        self, comparison: dict[str, Any], *, error_factor: float | None = None
    ) -> None:
        """A timed call's comparison; its error is bounded as in verification where that is known.

        Against the baseline's own outputs, whose error for these weights is not known, a call may
        look wrong that is not, where the model is sensitive; such calls were compared with float64.
        """
        if not passes(comparison):
            self._session.raise_for(comparison.get("problems", ()))
            self._wrong_when_timed(complaint(comparison))
        if not comparison.get("exact"):
            return
        tally = self._session.tally
        if (why := too_far(comparison, error_factor=tally.error_factor)) is not None:
            self._wrong_when_timed(why)
        tally.take(comparison, label="a timed call", error_factor=error_factor)
        tally.conclude()

    def _wrong_when_timed(self, why: str) -> NoReturn:
        detail = f"while being timed: {why}"
        raise Failed(
            "wrong_result", detail, build=self._session.build,
            verification=self._session.tally.verification(passed=False, detail=detail),
        )  # fmt: skip
