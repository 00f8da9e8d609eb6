"""One candidate before the judge: built, verified over several rounds, timed in paired blocks."""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

from mcts.domain import Build, Refusal, Tolerance
from profilers.building import Failed
from profilers.energy import Runners
from profilers.kernelbench.clients import Oracle, Worker
from profilers.kernelbench.layout import Layout
from profilers.kernelbench.libraries import forbidden_library
from profilers.kernelbench.outside import Overheads, Span, Steps
from profilers.kernelbench.replies import (
    events_of,
    forged,
    kernels_of,
    names_of,
    outputs_of,
    problems_of,
    text_of,
)
from profilers.kernelbench.settings import KernelBenchSettings
from profilers.kernelbench.verdicts import (
    Tally,
    Unfaithful,
    complaint,
    first_refusal,
    passes,
)
from profilers.statistics import speedup_blocked

_CALIBRATIONS = 5
_LATE = ("side_stream", "batched_calls")


@dataclass(frozen=True, slots=True)
class Round:
    """One verification: how inputs are drawn, and which weights change before it."""

    variation: str
    weights: Literal["same", "new", "partly new"] = "same"
    may_refuse: bool = False

    @property
    def label(self) -> str:
        changed = "" if self.weights == "same" else f", {self.weights} weights"
        return f"inputs {self.variation}{changed}"


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


@dataclass(slots=True)
class Trial:
    """A candidate in a worker of its own, and what is known of it so far.

    `twin` is a worker with the baseline in it, a process of the same kind and as fresh: where there
    is one, it is timed instead of the oracle's model, which then only says what is right.

    The methods raise Failed and Unfaithful for what the candidate did, Refused and ChildGone where
    its process said no or was lost, and WorldError where the oracle was.
    """

    oracle: Oracle
    worker: Worker
    layout: Layout
    settings: KernelBenchSettings
    tolerance: Tolerance
    call_s: float
    build: Build
    source: Path
    text: str
    environment: dict[str, str]
    frozen_weights: bool = False
    twin: Worker | None = None
    doing: str = "being loaded"
    tally: Tally = field(init=False)
    overheads: Overheads = field(init=False)
    _names: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self.tally = Tally(error_factor=self.settings.error_factor)
        self._names = (f"{secrets.token_hex(8)}" for _ in iter(int, 1))

    def calibrate(self) -> None:
        """Time what a span costs by itself; nothing of the candidate has run yet."""
        samples: list[tuple[int, Steps]] = []
        sizes = sorted({1, max(1, self.layout.calls // 2), self.layout.calls})
        with self._drawn(self.layout.calls) as ids:
            inputs = self._place(ids)
            outputs = self._baseline_outputs(ids)
            for count in sizes:
                self._own("calibrate_prepare", calls=inputs[:count], outputs=outputs[:count])
                self._own("calibrate_run", flush=True)
                for number in range(_CALIBRATIONS + 1):
                    steps, _ = self._steps(ids[:count], prefix="calibrate_")
                    if number:  # the first of each size pays for what is set up once
                        samples.append((count, steps))
        self.overheads = Overheads.fit(samples)

    def load(self, *, init: Any, seed: int) -> None:
        """Construct the candidate's model with the reference's weights."""
        weights = self.oracle.ask("weights", seed=None)["weights"]
        reply = self.worker.ask(
            "load", path=str(self.source), init=init, weights=weights, seed=seed,
            environment=self.environment, module=f"candidate_{secrets.token_hex(4)}",
            timeout_s=self.settings.load_deadline_s,
        )  # fmt: skip
        self._heed(problems_of(reply))
        if extra := names_of(reply, "extra"):
            self.tally.notes.append(f"ModelNew has weights of its own: {', '.join(extra[:5])}")

    def verify(self, rounds: Sequence[Round]) -> None:
        """Every round on inputs that nobody has seen; the first wrong one ends it."""
        for item in rounds:
            self.doing = f"running on {item.label}"
            self._verify(item)

    def trace(self) -> None:
        """Which kernels a call runs. Unfaithful where the work is left to libraries."""
        self.doing = "being traced"
        with self._drawn(1) as ids:
            (inputs,) = self._place(ids)
            reply = self.worker.ask(
                "trace", inputs=inputs, timeout_s=self.settings.start_deadline_s
            )
        if refusal := forbidden_library(self.text, kernels_of(reply)):
            raise Unfaithful(refusal)

    def time(self) -> Times:
        """Blocks of paired calls: both models on the same fresh inputs, in random order.

        Where weights may change, they do so before some of the blocks: a candidate that keeps what
        it made of them is right in verification only for as long as it thinks it is watched.
        """
        self.doing = "being timed"
        renewals = self._renewals()
        baseline: list[tuple[float, ...]] = []
        candidate: list[tuple[float, ...]] = []
        spans: list[Span] = []
        self._block(1)  # the first call of all sets things up
        exact = random.SystemRandom().sample(range(self.settings.least_blocks), 2)
        begin = time.monotonic()
        for number in range(self.settings.blocks):
            if number in renewals:
                self._verify(renewals[number])
            calls = random.SystemRandom().randint(max(1, self.layout.calls // 3), self.layout.calls)
            before, span = self._block(calls, exactly=number in exact)
            baseline.append(before)
            candidate.append(span.events_us)
            spans.append(span)
            if number + 1 >= self.settings.least_blocks and (
                time.monotonic() - begin > self.settings.time_budget_s
                or self._narrow(baseline, candidate)
            ):
                break
        return Times(tuple(baseline), tuple(candidate), tuple(spans))

    @contextmanager
    def prepared(self) -> Iterator[Runners]:
        """The baseline and the candidate, ready to run so many times in a row."""
        with self._drawn(self.layout.calls) as ids:
            self.oracle.ask("prepare", ids=ids)
            self.worker.ask("prepare", calls=self._place(ids), timeout_s=self._deadline_s)

            def baseline(calls: int) -> None:
                self.oracle.ask("burn", calls=calls, timeout_s=self._batch_s(calls))

            def candidate(calls: int) -> None:
                self.worker.ask("burn", calls=calls, timeout_s=self._batch_s(calls))

            yield Runners(baseline, candidate)

    def _renewals(self) -> dict[int, Round]:
        """Before which blocks the weights change, drawn anew each time."""
        if self.frozen_weights:
            return {}
        blocks = random.SystemRandom().sample(range(self.settings.least_blocks), 2)
        kinds = (Round("given", weights="new"), Round("given", weights="partly new"))
        return dict(zip(blocks, kinds, strict=True))

    def _renew(self, *, part: bool) -> None:
        """Change the weights of the reference, the candidate and the twin alike."""
        reply = self.oracle.ask("weights", seed=secrets.randbits(63), part=part)
        for worker in (self.twin, self.worker):
            if worker is not None:
                worker.ask("weights", weights=reply["weights"], timeout_s=self._deadline_s)

    def _verify(self, item: Round) -> None:
        name = next(self._names)
        if item.weights != "same":
            self._renew(part=item.weights == "partly new")
        drawn = self.oracle.ask(
            "draw", id=name, seed=secrets.randbits(63), variation=item.variation,
            at=self.layout.input_at(0),
        )  # fmt: skip
        if drawn["available"] is not True:
            return
        try:
            self.oracle.ask("expect", id=name, weights="current")
            reply = self.worker.ask(
                "call", inputs=drawn["inputs"], at=0, late_at=self.layout.late_at,
                may_refuse=item.may_refuse, timeout_s=self._first_call_s(item),
            )  # fmt: skip
            if said := text_of(reply, "refused"):
                if not item.may_refuse:
                    raise forged("it refuses inputs that it was not free to refuse")
                self.tally.notes.append(f"refuses another batch size: {said}")
                return
            problems = problems_of(reply)
            self._heed([found for found in problems if found["cheat"] not in _LATE])
            if not self._compare(item, name, reply):
                self._heed(problems)
        finally:
            self.oracle.ask("forget", ids=[name])

    def _compare(self, item: Round, name: str, reply: dict[str, Any]) -> bool:
        """Whether the outputs were right only later: work goes on behind the caller's stream."""
        prompt = self._compared(name, reply.get("outputs"))
        late = None if passes(prompt) else self._compared(name, reply.get("late"))
        if late is not None and not passes(late):
            self._heed([*prompt.get("problems", ()), *late.get("problems", ())])
            self._wrong(item, complaint(prompt))
        self.tally.take(late or prompt, label=item.label)
        self.tally.late = self.tally.late or late is not None
        return late is not None

    def _compared(self, name: str, outputs: Any) -> dict[str, Any]:
        return self.oracle.ask(
            "compare", id=name, outputs=outputs, k=self.settings.error_factor,
            tolerance=[self.tolerance.relative, self.tolerance.absolute],
        )  # fmt: skip

    def _wrong(self, item: Round, detail: str) -> None:
        self.tally.rounds += 1
        if item.weights != "same":
            raise Unfaithful(
                Refusal(
                    cheat="cached_weights",
                    evidence="right with the weights it was built with, wrong after they changed "
                    f"in place: {detail}",
                )
            )
        detail = f"{item.label}: {detail}"
        raise Failed(
            "wrong_result",
            detail,
            build=self.build,
            verification=self.tally.verification(passed=False, detail=detail),
        )

    def _block(self, calls: int, *, exactly: bool = False) -> tuple[tuple[float, ...], Span]:
        """Time one block; its outputs are compared like any others, one of them `exactly`."""
        with self._drawn(calls) as ids, self._twins(calls):
            self.oracle.ask("prepare", ids=ids)
            first = secrets.randbits(1)
            before = self._baseline_run(calls) if first else None
            steps, (ran, fetched) = self._steps(ids)
            if before is None:
                before = self._baseline_run(calls)
            if not self.tally.late:  # else it is no result, and the outputs are known to be late
                self._heed(problems_of(fetched))
                outputs = outputs_of(fetched, calls=calls)
                self._compare_timed(ids, outputs)
                if exactly:
                    self._compare_exactly(ids, outputs)
        return before, self.overheads.span(events_of(ran, calls=calls), steps)

    def _steps(
        self, ids: Sequence[str], *, prefix: str = ""
    ) -> tuple[Steps, tuple[dict[str, Any], dict[str, Any]]]:
        """A block from outside: what each step took, and what `run` and `fetch` answered.

        From the placing of the inputs on, nothing else is done until the outputs are back.
        """
        limit_s = self._batch_s(len(ids)) + self.settings.call_deadline_s
        self.worker.ask("warm", timeout_s=limit_s)
        marks = [time.perf_counter_ns()]
        self.worker.ask(f"{prefix}prepare", calls=self._place(ids), timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        ran = self.worker.ask(f"{prefix}run", flush=True, repeats=1, timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        fetched = self.worker.ask(f"{prefix}fetch", at=0, timeout_s=limit_s)
        marks.append(time.perf_counter_ns())
        took = [(end - begin) / 1e3 for begin, end in itertools.pairwise(marks)]
        return Steps(*took), (ran, fetched)

    @contextmanager
    def _twins(self, calls: int) -> Iterator[None]:
        """Inputs of its own for the twin, which the candidate's replace in the shared memory.

        What the twin makes of them is compared: who wrote into that memory wrote to be faster.
        """
        if self.twin is None:
            yield
            return
        with self._drawn(calls) as ids:
            inputs = self._place(ids)
            self.twin.ask("prepare", calls=inputs, timeout_s=self._deadline_s)
            yield
            fetched = self.twin.ask("fetch", at=0, timeout_s=self._batch_s(calls))
            if not all(passes(one) for one in self._timed_comparisons(ids, fetched["outputs"])):
                raise Unfaithful(
                    Refusal(
                        cheat="poisons_reference",
                        evidence="the baseline's inputs were changed in the shared memory",
                    )
                )

    def _baseline_run(self, calls: int) -> tuple[float, ...]:
        if self.twin is None:
            return tuple(self.oracle.ask("run", flush=True)["events_us"])
        ran = self.twin.ask("run", flush=True, repeats=1, timeout_s=self._batch_s(calls))
        return tuple(ran["events_us"])

    def _compare_timed(self, ids: list[str], outputs: Sequence[Any]) -> None:
        for comparison in self._timed_comparisons(ids, outputs):
            if not passes(comparison):
                self._heed(comparison.get("problems", ()))
                self._wrong_when_timed(comparison)

    def _timed_comparisons(self, ids: list[str], outputs: Sequence[Any]) -> list[dict[str, Any]]:
        """Outputs of timed calls against those of the oracle's own model."""
        if self.twin is not None:
            self.oracle.ask("prepare", ids=ids)
            self.oracle.ask("run", flush=False)
        compared: list[dict[str, Any]] = self.oracle.ask(
            "compare_timed", ids=ids, outputs=list(outputs), k=self.settings.error_factor,
            tolerance=[self.tolerance.relative, self.tolerance.absolute],
        )["calls"]  # fmt: skip
        return compared

    def _compare_exactly(self, ids: list[str], outputs: Sequence[Any]) -> None:
        """One timed call against float64, its error bounded as in verification."""
        chosen = random.SystemRandom().randrange(len(ids))
        self.oracle.ask("expect", id=ids[chosen], weights="current")
        comparison = self._compared(ids[chosen], outputs[chosen])
        if not passes(comparison):
            self._wrong_when_timed(comparison)
        self.tally.take(comparison, label="a timed call")

    def _wrong_when_timed(self, comparison: dict[str, Any]) -> NoReturn:
        detail = f"while being timed: {complaint(comparison)}"
        raise Failed(
            "wrong_result", detail, build=self.build,
            verification=self.tally.verification(passed=False, detail=detail),
        )  # fmt: skip

    def _baseline_outputs(self, ids: list[str]) -> list[Any]:
        """Specs of outputs as the fetch of so many calls would lay them out."""
        self.oracle.ask("prepare", ids=ids)
        self.oracle.ask("run", flush=False)
        outputs: list[Any] = self.oracle.ask("fetch")["outputs"]
        return outputs

    @contextmanager
    def _drawn(self, calls: int) -> Iterator[list[str]]:
        """Fresh inputs for so many calls, in the oracle's own memory alone."""
        ids = [next(self._names) for _ in range(calls)]
        try:
            for name in ids:
                self.oracle.ask(
                    "draw", id=name, seed=secrets.randbits(63), variation="given", at=None
                )
            yield ids
        finally:
            self.oracle.ask("forget", ids=ids)

    def _place(self, ids: Sequence[str]) -> list[Any]:
        """Put drawn inputs where the worker can see them; what lay there is gone."""
        slots = [self.layout.input_at(index) for index in range(len(ids))]
        placed: list[Any] = self.oracle.ask("place", ids=list(ids), at=slots)["inputs"]
        return placed

    def _own(self, op: str, **fields: Any) -> float:
        return self.worker.timed(op, timeout_s=self.settings.start_deadline_s, **fields).us

    def _heed(self, problems: Sequence[dict[str, Any]]) -> None:
        if refusal := first_refusal(problems):
            raise Unfaithful(refusal)

    def _first_call_s(self, item: Round) -> float:
        """What a call may take: the first of a shape may compile, as JITs and autotuners do."""
        fresh = self.tally.rounds == 0 or item.variation == "batch"
        return max(self._deadline_s, self.settings.load_deadline_s if fresh else 0.0)

    @property
    def _deadline_s(self) -> float:
        return self.settings.call_deadline_s + 100 * self.call_s

    def _batch_s(self, calls: int) -> float:
        return self.settings.call_deadline_s + 20 * calls * self.call_s

    def _narrow(
        self, baseline: list[tuple[float, ...]], candidate: list[tuple[float, ...]]
    ) -> bool:
        found = speedup_blocked(baseline, candidate, seed=len(baseline))
        return (found.high - found.low) / 2 / found.point < self.settings.half_width


def rounds_of(
    *, mutable_weights: bool, hidden_shapes: bool, variations: Sequence[str]
) -> list[Round]:
    """The rounds of a task: first as given, so that what fails later is known to fail only then."""
    rounds = [Round("given"), Round("given")]
    if mutable_weights:
        rounds += [Round("given", weights="new"), Round("given", weights="partly new")]
    allowed = [name for name in variations if name != "batch" or hidden_shapes]
    return rounds + [Round(name, may_refuse=name == "batch") for name in allowed]
