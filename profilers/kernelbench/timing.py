"""How fast is it? Paired blocks, timed by events inside and by the judge's clock outside."""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from mcts.domain import Refusal
from profilers.building import Failed
from profilers.kernelbench.outside import Overheads, Span, Steps
from profilers.kernelbench.replies import events_of, outputs_of, problems_of
from profilers.kernelbench.rounds import Round
from profilers.kernelbench.trial import Trial
from profilers.kernelbench.verdicts import Unfaithful, complaint, passes
from profilers.kernelbench.verifying import Verifier
from profilers.statistics import speedup_blocked

_CALIBRATIONS = 5


@dataclass(frozen=True, slots=True)
class Times:
    """Paired samples in microseconds, block by block, and the spans behind the candidate's.

    `processes` is how many pairs of fresh processes they come from.
    """

    baseline: tuple[tuple[float, ...], ...]
    candidate: tuple[tuple[float, ...], ...]
    spans: tuple[Span, ...]
    processes: int = 1

    @classmethod
    def pooled(cls, each: Sequence[Times]) -> Times:
        """One block of each pair of processes, whose differences are then in the interval."""
        return cls(
            baseline=tuple(tuple(us for block in one.baseline for us in block) for one in each),
            candidate=tuple(tuple(us for block in one.candidate for us in block) for one in each),
            spans=tuple(span for one in each for span in one.spans),
            processes=len(each),
        )


class Timer:
    """Times the candidate of a trial; made, with what that costs by itself, before it is loaded.

    Raises what the trial's methods raise.
    """

    def __init__(self, trial: Trial, verifier: Verifier) -> None:
        self._trial, self._verifier = trial, verifier
        self._overheads = self._calibrated()

    def _calibrated(self) -> Overheads:
        """Time what a span costs by itself; nothing of the candidate has run yet."""
        samples: list[tuple[int, Steps]] = []
        sizes = sorted({1, max(1, self._trial.layout.calls // 2), self._trial.layout.calls})
        with self._trial.drawn(self._trial.layout.calls) as ids:
            inputs = self._trial.place(ids)
            outputs = self._baseline_outputs(ids)
            for count in sizes:
                self._own("calibrate_prepare", calls=inputs[:count], outputs=outputs[:count])
                self._own("calibrate_run", flush=True)
                for number in range(_CALIBRATIONS + 1):
                    steps, _ = self._steps(ids[:count], prefix="calibrate_")
                    if number:  # the first of each size pays for what is set up once
                        samples.append((count, steps))
        return Overheads.fit(samples)

    def time(self) -> Times:
        """Blocks of paired calls: both models on the same fresh inputs, in random order.

        Where weights may change, they do so before some of the blocks: a candidate that keeps what
        it made of them is right in verification only for as long as it thinks it is watched.
        """
        self._trial.doing = "being timed"
        renewals = self._renewals()
        baseline: list[tuple[float, ...]] = []
        candidate: list[tuple[float, ...]] = []
        spans: list[Span] = []
        self._block(1)  # the first call of all sets things up
        exact = random.SystemRandom().sample(range(self._trial.settings.least_blocks), 2)
        begin = time.monotonic()
        for number in range(self._trial.settings.blocks):
            if number in renewals:
                self._verifier.verify_one(renewals[number])
            calls = random.SystemRandom().randint(
                max(1, self._trial.layout.calls // 3), self._trial.layout.calls
            )
            before, span = self._block(calls, exactly=number in exact)
            baseline.append(before)
            candidate.append(span.events_us)
            spans.append(span)
            if number + 1 >= self._trial.settings.least_blocks and (
                time.monotonic() - begin > self._trial.settings.time_budget_s
                or self._narrow(baseline, candidate)
            ):
                break
        return Times(tuple(baseline), tuple(candidate), tuple(spans))

    def _renewals(self) -> dict[int, Round]:
        """Before which blocks the weights change, drawn anew each time."""
        if self._trial.frozen_weights:
            return {}
        blocks = random.SystemRandom().sample(range(self._trial.settings.least_blocks), 2)
        kinds = (Round("given", weights="new"), Round("given", weights="partly new"))
        return dict(zip(blocks, kinds, strict=True))

    def _block(self, calls: int, *, exactly: bool = False) -> tuple[tuple[float, ...], Span]:
        """Time one block; its outputs are compared like any others, one of them `exactly`."""
        with self._trial.drawn(calls) as ids, self._twins(calls):
            self._trial.oracle.ask("prepare", ids=ids)
            first = secrets.randbits(1)
            before = self._baseline_run(calls) if first else None
            steps, (ran, fetched) = self._steps(ids)
            if before is None:
                before = self._baseline_run(calls)
            if (
                not self._trial.tally.late
            ):  # else it is no result, and the outputs are known to be late
                self._trial.heed(problems_of(fetched))
                outputs = outputs_of(fetched, calls=calls)
                self._compare_timed(ids, outputs)
                if exactly:
                    self._compare_exactly(ids, outputs)
        return before, self._overheads.span(events_of(ran, calls=calls), steps)

    def _steps(
        self, ids: Sequence[str], *, prefix: str = ""
    ) -> tuple[Steps, tuple[dict[str, Any], dict[str, Any]]]:
        """A block from outside: what each step took, and what `run` and `fetch` answered.

        From the placing of the inputs on, nothing else is done until the outputs are back.
        """
        limit_s = self._trial.batch_s(len(ids)) + self._trial.settings.call_deadline_s
        self._trial.worker.ask("warm", timeout_s=limit_s)
        marks = [time.perf_counter_ns()]
        self._trial.worker.ask(f"{prefix}prepare", calls=self._trial.place(ids), timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        ran = self._trial.worker.ask(f"{prefix}run", flush=True, repeats=1, timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        fetched = self._trial.worker.ask(f"{prefix}fetch", at=0, timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        took = [(end - begin) / 1e3 for begin, end in itertools.pairwise(marks)]
        return Steps(*took), (ran, fetched)

    @contextmanager
    def _twins(self, calls: int) -> Iterator[None]:
        """Inputs of its own for the twin, which the candidate's replace in the shared memory.

        What the twin makes of them is compared: who wrote into that memory wrote to be faster.
        """
        if self._trial.twin is None:
            yield
            return
        with self._trial.drawn(calls) as ids:
            inputs = self._trial.place(ids)
            self._trial.twin.ask("prepare", calls=inputs, timeout_s=self._trial.deadline_s)
            yield
            fetched = self._trial.twin.ask("fetch", at=0, timeout_s=self._trial.batch_s(calls))
            if not all(passes(one) for one in self._timed_comparisons(ids, fetched["outputs"])):
                raise Unfaithful(
                    Refusal(
                        cheat="poisons_reference",
                        evidence="the baseline's inputs were changed in the shared memory",
                    )
                )

    def _baseline_run(self, calls: int) -> tuple[float, ...]:
        if self._trial.twin is None:
            return tuple(self._trial.oracle.ask("run", flush=True)["events_us"])
        ran = self._trial.twin.ask(
            "run", flush=True, repeats=1, timeout_s=self._trial.batch_s(calls)
        )
        return tuple(ran["events_us"])

    def _compare_timed(self, ids: list[str], outputs: Sequence[Any]) -> None:
        for comparison in self._timed_comparisons(ids, outputs):
            if not passes(comparison):
                self._trial.heed(comparison.get("problems", ()))
                self._wrong_when_timed(comparison)

    def _timed_comparisons(self, ids: list[str], outputs: Sequence[Any]) -> list[dict[str, Any]]:
        """Outputs of timed calls against those of the oracle's own model."""
        if self._trial.twin is not None:
            self._trial.oracle.ask("prepare", ids=ids)
            self._trial.oracle.ask("run", flush=False)
        compared: list[dict[str, Any]] = self._trial.oracle.ask(
            "compare_timed", ids=ids, outputs=list(outputs), k=self._trial.settings.error_factor,
            tolerance=[self._trial.tolerance.relative, self._trial.tolerance.absolute],
        )["calls"]  # fmt: skip
        return compared

    def _compare_exactly(self, ids: list[str], outputs: Sequence[Any]) -> None:
        """One timed call against float64, its error bounded as in verification."""
        chosen = random.SystemRandom().randrange(len(ids))
        self._trial.oracle.ask("expect", id=ids[chosen], weights="current")
        comparison = self._trial.compared(ids[chosen], outputs[chosen])
        if not passes(comparison):
            self._wrong_when_timed(comparison)
        self._trial.tally.take(comparison, label="a timed call")

    def _wrong_when_timed(self, comparison: dict[str, Any]) -> NoReturn:
        detail = f"while being timed: {complaint(comparison)}"
        raise Failed(
            "wrong_result", detail, build=self._trial.build,
            verification=self._trial.tally.verification(passed=False, detail=detail),
        )  # fmt: skip

    def _baseline_outputs(self, ids: list[str]) -> list[Any]:
        """Specs of outputs as the fetch of so many calls would lay them out."""
        self._trial.oracle.ask("prepare", ids=ids)
        self._trial.oracle.ask("run", flush=False)
        outputs: list[Any] = self._trial.oracle.ask("fetch")["outputs"]
        return outputs

    def _own(self, op: str, **fields: Any) -> None:
        self._trial.worker.ask(op, timeout_s=self._trial.settings.start_deadline_s, **fields)

    def _narrow(
        self, baseline: list[tuple[float, ...]], candidate: list[tuple[float, ...]]
    ) -> bool:
        found = speedup_blocked(baseline, candidate, seed=len(baseline))
        return (found.high - found.low) / 2 / found.point < self._trial.settings.half_width
