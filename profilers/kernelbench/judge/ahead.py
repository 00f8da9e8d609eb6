"""Inputs and expected results of a verification, made while nobody else asks the reference.

They take most of a verification, and depend on no candidate: the reference makes those for the next
candidate between two verdicts, and while a candidate is built and loaded. Only it has them until
they are used, each once.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mcts.errors import RooftreeError
from profilers.children.protocol import RequestRefused
from profilers.kernelbench.judge.clients import OracleClient
from profilers.kernelbench.judge.problem import OpenProblem
from profilers.kernelbench.judge.rounds import VerificationRound


@dataclass(frozen=True, slots=True)
class ReadyDraw:
    """Inputs that the reference keeps under a name, and what it told of their expected results."""

    name: str
    expected: dict[str, Any]


def new_name() -> str:
    """A name for a draw that cannot be guessed."""
    return secrets.token_hex(8)


class DrawsAhead:
    """What is ready for rounds that change no weights.

    `rounds` tells what a verification of the problem consists of. The thread that judges begins and
    stops; nothing may be timed in between.
    """

    def __init__(
        self, problem: OpenProblem, rounds: Callable[[], Sequence[VerificationRound]]
    ) -> None:
        self._problem, self._rounds = problem, rounds
        self._ready: dict[str, deque[ReadyDraw]] = {}
        self._no_such: set[str] = set()
        self._oracle: OracleClient | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def begin(self) -> None:
        """Make what is missing in the background, until `stop`, if there is memory for it."""
        self.stop()
        oracle = self._problem.running
        if oracle is None or not self._problem.draws_ahead:
            return
        if oracle is not self._oracle:  # another process knows nothing of these draws
            self._ready, self._oracle = {}, oracle
        self._stopping.clear()
        self._thread = threading.Thread(
            target=self._make, args=(oracle,), name="rooftree-draws-ahead", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Wait for what the reference is at, and ask no more; idempotent."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def end(self) -> None:
        """Stop for good, whether the reference answers or not: it is ended."""
        self._stopping.set()
        if self._thread is not None and self._oracle is not None:
            self._oracle.hang_up()
        self.stop()

    @contextmanager
    def meanwhile(self, *, beside_workers: bool = False) -> Iterator[None]:
        """Make what is missing while the block runs; beside workers only if there is room."""
        if not beside_workers or self._problem.is_roomy:
            self.begin()
        try:
            yield
        finally:
            self.stop()

    def take(self, oracle: OracleClient, item: VerificationRound) -> ReadyDraw | None:
        """A draw for the round, which the caller has to forget; None if none is ready."""
        found = self._ready.get(item.variation)
        if oracle is not self._oracle or item.weights != "same" or not found:
            return None
        return found.popleft()

    def drop(self) -> None:
        """Forget what is ready, as the weights change that it was made with."""
        names = [draw.name for draws in self._ready.values() for draw in draws]
        self._ready = {}
        if names and self._oracle is not None and self._oracle.alive:
            self._oracle.ask("forget", ids=names)

    def _make(self, oracle: OracleClient) -> None:
        # What goes wrong here goes wrong again where it is a candidate's turn, and is told there.
        with contextlib.suppress(RooftreeError, RequestRefused):
            for item in self._missing():
                if self._stopping.is_set():
                    return
                name = new_name()
                try:
                    draw = self._made(oracle, name, item)
                except (RooftreeError, RequestRefused):
                    oracle.ask("forget", ids=[name])
                    return
                if draw is not None:
                    self._ready.setdefault(item.variation, deque()).append(draw)

    def _made(self, oracle: OracleClient, name: str, item: VerificationRound) -> ReadyDraw | None:
        """A draw for the round; None if the task allows no such inputs, or hardly."""
        seed = secrets.randbits(63)
        drawn = oracle.ask("draw", id=name, seed=seed, variation=item.variation, at=None)
        if drawn["available"] is not True:
            self._no_such.add(item.variation)
            return None
        layout = self._problem.layout
        if drawn["bytes"] > layout.inputs_bytes - layout.input_at(0):
            oracle.ask("forget", ids=[name])
            self._no_such.add(item.variation)
            return None
        expected = oracle.ask("expect", id=name, **item.expecting)
        return ReadyDraw(name, expected)

    def _missing(self) -> list[VerificationRound]:
        """The rounds that nothing is ready for, as many as there is room for, in their order."""
        ready = {variation: len(draws) for variation, draws in self._ready.items()}
        room = self._problem.draws_ahead - sum(ready.values())
        found: list[VerificationRound] = []
        for item in self._rounds():
            if item.weights != "same" or item.variation in self._no_such:
                continue
            if ready.get(item.variation, 0):
                ready[item.variation] -= 1
            elif len(found) < room:
                found.append(item)
        return found
