"""Trials in flight: answered in threads, awaited in the order in which they were asked.

Thanks to that order the tree does not depend on how long each trial took.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor

from mcts.loop.branches import candidates_of
from mcts.loop.ledger import Ledger
from mcts.loop.world import Answer, World
from mcts.ports import ProposalRequest
from mcts.search.trial import Trial


class Flights:
    """Runs trials in the threads of `executor`, or in `parallel` of its own. Not thread-safe."""

    def __init__(
        self, *, world: World, ledger: Ledger, parallel: int, executor: Executor | None
    ) -> None:
        self._world, self._ledger = world, ledger
        self._executor = executor or ThreadPoolExecutor(parallel, "rooftree-trial")
        self._is_own = executor is None
        self._out: deque[tuple[Trial, Future[Answer]]] = deque()

    def __len__(self) -> int:
        """How many trials are in flight."""
        return len(self._out)

    def launch(self, trial: Trial, request: ProposalRequest) -> None:
        """Start a trial. An inline proposer is asked here, so in the order of the trials."""
        self._out.append((trial, self._send(trial, request)))

    def wait(self) -> tuple[Trial, Answer]:
        """Wait for the oldest trial in flight; returns its answer, or raises what it raised."""
        trial, flight = self._out.popleft()
        return trial, flight.result()

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
