"""The progress of a run, for a display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from typing import Any, Literal

from mcts.domain import Evaluation
from mcts.journal.runlog import RunLog
from mcts.journal.spending import NOTHING, Spending
from mcts.loop.budget import Budget, BudgetGuard
from mcts.loop.ledger import Ledger
from mcts.loop.world import Answer
from mcts.text import one_line

Phase = Literal["searching", "confirming"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands. `last` is one line about the latest step; `replaying`: it was in the
    journal already.

    `spending` is what the trials told so far have cost, `caps` the limits of the budget.
    """

    evaluations: int
    budget: int
    unique: int
    failed: int
    in_flight: int
    nodes: int
    baseline_us: float | None
    best_us: float | None
    best_speedup: float | None
    elapsed_s: float
    last: str
    replaying: bool
    phase: Phase = "searching"
    spending: Spending = NOTHING
    caps: Budget | None = None


class Reporter:
    """Passes the progress to a display; times are None until the baseline is measured."""

    def __init__(
        self,
        on_progress: Callable[[Progress], None] | None,
        *,
        ledger: Ledger,
        guard: BudgetGuard,
        log: RunLog,
        flights: Sized,
    ) -> None:
        self.on_progress = on_progress
        self._ledger, self._guard, self._log, self._flights = ledger, guard, log, flights

    def say(self, last: str, *, replaying: bool = False, phase: Phase = "searching") -> None:
        """Report the progress with `last` as its latest step."""
        if self.on_progress is None:
            return
        ledger, budget = self._ledger, self._guard.budget
        baseline = ledger.evaluations.get(0)
        best = ledger.verdict(ledger.best()) if baseline else None
        progress = Progress(
            evaluations=ledger.told,
            budget=budget.evaluations,
            unique=ledger.unique,
            failed=ledger.failed,
            in_flight=len(self._flights),
            nodes=len(ledger.evaluations),
            baseline_us=baseline.timing.median_us if baseline and baseline.timing else None,
            best_us=best.timing.median_us if best and best.timing else None,
            best_speedup=best.speedup if best else None,
            elapsed_s=self._log.elapsed_s,
            last=last,
            replaying=replaying,
            phase=phase,
            spending=self._guard.total,
            caps=budget,
        )
        self.on_progress(progress)


def status_words(evaluation: Evaluation) -> str:
    """The status, with the class of cheat if the candidate was refused for one."""
    if evaluation.refusal is None:
        return evaluation.status
    return f"{evaluation.status} ({evaluation.refusal.cheat})"


def describe(line: Mapping[str, Any], answer: Answer) -> str:
    """One line about a settled trial."""
    evaluation = answer.evaluation
    if evaluation is not None and evaluation.timing is not None and evaluation.measured:
        timing = evaluation.timing
        text = f"{timing.median_us:.1f} us, {timing.speedup:.2f}x"
    else:
        status = status_words(evaluation) if evaluation else "rejected"
        text = f"{status}: {line['reason']}".splitlines()[0][:120]
    again = f" (same as node {line['duplicate_of']})" if line["duplicate_of"] is not None else ""
    called = f" ({name})" if (name := _name_of(answer)) else ""
    return f"node {line['trial']}{called}: {text}{again}"


def _name_of(answer: Answer) -> str:
    return one_line(answer.proposal.candidate.name, 60) if answer.proposal else ""
