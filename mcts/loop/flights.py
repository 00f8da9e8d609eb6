"""Trials in flight: answered in threads, awaited in the order in which they were asked.

Thanks to that order the tree does not depend on how long each trial took.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from mcts.loop.branches import candidates_of
from mcts.loop.ledger import Ledger
from mcts.loop.world import Answer, World
from mcts.ports import PendingTrial, ProposalRequest
from mcts.search.trial import Trial


@dataclass(frozen=True, slots=True)
class _Flight:
    trial: Trial
    request: ProposalRequest
    answer: Future[Answer]


class Flights:
    """Runs trials in the threads of `executor`, or in `parallel` of its own. Not thread-safe."""

    def __init__(
        self, *, world: World, ledger: Ledger, parallel: int, executor: Executor | None
    ) -> None:
        self._world, self._ledger = world, ledger
        self._executor = executor or ThreadPoolExecutor(parallel, "rooftree-trial")
        self._is_own = executor is None
        self._out: deque[_Flight] = deque()

    def __len__(self) -> int:
        """How many trials are in flight."""
        return len(self._out)

    def pending(self) -> tuple[PendingTrial, ...]:
        """The trials in flight, in the order they were asked.

        They depend on what was asked and told before alone, not on how long anything took: a
        resumed run finds the same.
        """
        requests = [flight.request for flight in self._out]
        return tuple(
            PendingTrial(parent=each.parent, move=each.move, choice=each.choice)
            for each in requests
        )

    def launch(self, trial: Trial, request: ProposalRequest) -> None:
        """Start a trial. An inline proposer is asked here, so in the order of the trials."""
        self._out.append(_Flight(trial, request, self._send(trial, request)))

    def wait(self) -> tuple[Trial, Answer]:
        """Wait for the oldest trial in flight; returns its answer, or raises what it raised."""
        flight = self._out.popleft()
        return flight.trial, flight.answer.result()

    def finish(self) -> None:
        """Wait for all that is in flight; its answers are in the journal, and left there."""
        wait([flight.answer for flight in self._out])

    def close(self) -> None:
        """Start nothing more; its own threads end after the trial they are running."""
        if self._is_own:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _send(self, trial: Trial, request: ProposalRequest) -> Future[Answer]:
        world, best = self._world, self._ledger.best_speedup
        if not world.proposer.inline:
            return self._executor.submit(world.propose_and_judge, trial, request, best)
        answer = world.propose(trial.id, request)
        if answer.proposal is None or answer.error is not None:
            return _answered(answer)
        self._ledger.tried.update(candidates_of(answer.proposal))
        return self._executor.submit(world.judge, trial, answer.proposal, best)


def _answered(answer: Answer) -> Future[Answer]:
    flight: Future[Answer] = Future()
    flight.set_result(answer)
    return flight
