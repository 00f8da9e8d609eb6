"""How far a run is, from its journal alone."""

from __future__ import annotations

from experiments.live.board import Board
from mcts.loop.budget import Budget
from mcts.loop.progress import Progress


def progress_of(board: Board, *, now: float, caps: Budget | None, known: bool) -> Progress:
    """The same figures that a running search tells of itself.

    `caps` are None where the run's configuration cannot be read; then the budget is 0. `known`
    says that all this had happened before anybody looked.
    """
    baseline = board.verdict(0)
    best = board.verdict(board.best) if board.best is not None else None
    return Progress(
        evaluations=board.told,
        budget=caps.evaluations if caps else 0,
        unique=board.unique,
        failed=sum(board.failures.values()),
        in_flight=board.in_flight,
        nodes=len(board.spots),
        baseline_us=baseline.timing.median_us if baseline and baseline.timing else None,
        best_us=best.timing.median_us if best and best.timing else None,
        best_speedup=best.speedup if best else None,
        elapsed_s=board.elapsed_s(now),
        last=board.last,
        replaying=known,
        phase="confirming" if board.confirming else "searching",
        spending=board.reader.spending,
        caps=caps,
    )
