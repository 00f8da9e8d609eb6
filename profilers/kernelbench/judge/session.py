"""A candidate loaded in a worker, and what verifying and timing it have in common."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcts.domain import Build, Tolerance
from profilers.kernelbench.judge.ahead import DrawsAhead, new_name
from profilers.kernelbench.judge.clients import BaselineClient, OracleClient, WorkerClient
from profilers.kernelbench.judge.libraries import forbidden_library
from profilers.kernelbench.judge.problem import Layout
from profilers.kernelbench.judge.replies import kernels_of, names_of, problems_of
from profilers.kernelbench.judge.settings import TF32_FACTOR, KernelBenchSettings
from profilers.kernelbench.judge.verdicts import Unfaithful, VerificationTally, first_refusal
from profilers.measuring.cores import TimingCores
from profilers.measuring.energy import Runners

_DRAW_S = 300.0  # for the inputs of one call, which some problems draw on the processor
_OWN_CORES = (
    "baseline and candidate ran on CPU cores of their own, as the kernel does not let this process "
    "choose them: what waits for the host is compared less well"
)


@dataclass(slots=True)
class CandidateSession:
    """A candidate in a worker of its own, and what is known of it so far.

    `baseline` runs the problem's model in a worker of the same kind, which is timed in turns with
    the candidate's; the oracle's model only says what is right.

    The methods raise Failed and Unfaithful for what the candidate did, RequestRefused and ChildGone
    if its process refused or was lost, and WorldError if the oracle was lost.
    """

    oracle: OracleClient
    worker: WorkerClient
    baseline: BaselineClient
    layout: Layout
    settings: KernelBenchSettings
    tolerance: Tolerance
    call_s: float
    build: Build
    source: Path
    text: str
    environment: dict[str, str]
    cores: TimingCores
    ahead: DrawsAhead
    frozen_weights: bool = False
    tf32: bool = False
    doing: str = "being loaded"
    tally: VerificationTally = field(init=False)

    def __post_init__(self) -> None:
        self.tally = VerificationTally(error_factor=self.settings.error_factor)

    def load(self, *, init: Any, seed: int) -> None:
        """Construct the candidate's model with the reference's weights."""
        weights = self.oracle.ask("weights", seed=None)["weights"]
        with self.ahead.meanwhile(beside_workers=True):
            reply = self.worker.ask(
                "load", path=str(self.source), init=init, weights=weights, seed=seed,
                environment=self.environment, module=f"candidate_{secrets.token_hex(4)}",
                timeout_s=self.settings.load_deadline_s,
            )  # fmt: skip
        self.raise_for(problems_of(reply))
        if extra := names_of(reply, "extra"):
            self.tally.notes.append(f"ModelNew has weights of its own: {', '.join(extra[:5])}")

    def trace(self) -> None:
        """Which kernels a call runs. Unfaithful if libraries do the work."""
        self.doing = "being traced"
        with self.drawn(1) as ids:
            (inputs,) = self.place(ids)
            reply = self.worker.ask(
                "trace", inputs=inputs, timeout_s=self.settings.start_deadline_s
            )
        if refusal := forbidden_library(self.text, kernels_of(reply)):
            raise Unfaithful(refusal)

    @contextmanager
    def prepared(self) -> Iterator[Runners]:
        """The baseline and the candidate, ready to run any number of times in a row."""
        with self.drawn(self.layout.calls) as ids:
            self.oracle.ask("prepare", ids=ids)  # only the oracle has a compiled model
            inputs = self.place(ids)
            for worker in (self.baseline, self.worker):
                worker.ask("prepare", calls=inputs, timeout_s=self.deadline_s)

            def baseline(calls: int) -> None:
                if self.settings.compiled:
                    self.oracle.ask("burn", calls=calls, timeout_s=self.batch_s(calls))
                else:
                    self.baseline.ask("burn", calls=calls, timeout_s=self.batch_s(calls))

            def candidate(calls: int) -> None:
                self.worker.ask("burn", calls=calls, timeout_s=self.batch_s(calls))

            yield Runners(baseline, candidate)

    def release_cores(self) -> None:
        """Let all processes run on every core again; note it if they could not be kept on one."""
        self.cores.release(self.oracle.processes, self.baseline.processes, self.worker.processes)
        if self.cores.refused:
            self.tally.notes.append(_OWN_CORES)

    def renew(self, *, part: bool, strength: float = 0.5) -> None:
        """Change the weights of the reference, the candidate and the baseline alike.

        If a `part`, one row, then by `strength` times their size or so.
        """
        self.ahead.drop()
        reply = self.oracle.ask("weights", seed=secrets.randbits(63), part=part, strength=strength)
        for worker in (self.baseline, self.worker):
            worker.ask("weights", weights=reply["weights"], timeout_s=self.deadline_s)

    def error_factor(self, *, centred: bool) -> float:
        """How many times the honest error is accepted, on inputs that are `centred` about zero."""
        factor = self.settings.error_factor
        return min(TF32_FACTOR, factor) if self.tf32 and centred else factor

    def compared(self, name: str, outputs: Any) -> dict[str, Any]:
        return self.oracle.ask(
            "compare", id=name, outputs=outputs, k=self.settings.error_factor,
            tolerance=[self.tolerance.relative, self.tolerance.absolute],
        )  # fmt: skip

    @contextmanager
    def drawn(self, calls: int) -> Iterator[list[str]]:
        """Draw fresh inputs for so many calls, in the oracle's own memory only."""
        ids = [new_name() for _ in range(calls)]
        try:
            seeds = [secrets.randbits(63) for _ in ids]
            self.oracle.ask("draw_calls", ids=ids, seeds=seeds, timeout_s=_DRAW_S * calls)
            yield ids
        finally:
            self.forget(ids)

    def forget(self, ids: Sequence[str]) -> None:
        """Have the oracle drop drawn inputs; nothing if it is gone: what ended it is the news."""
        if self.oracle.alive:
            self.oracle.ask("forget", ids=list(ids))

    def place(self, ids: Sequence[str]) -> list[Any]:
        """Write drawn inputs into the buffer that the worker sees; earlier content is lost."""
        slots = [self.layout.input_at(index) for index in range(len(ids))]
        placed: list[Any] = self.oracle.ask("place", ids=list(ids), at=slots)["inputs"]
        return placed

    def raise_for(self, problems: Sequence[dict[str, Any]]) -> None:
        """Unfaithful with the first of `problems`, if there are any."""
        if refusal := first_refusal(problems):
            raise Unfaithful(refusal)

    @property
    def deadline_s(self) -> float:
        return self.settings.call_deadline_s + 100 * self.call_s

    def batch_s(self, calls: int) -> float:
        return self.settings.call_deadline_s + 20 * calls * self.call_s
