"""How far a run may go, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mcts.domain import Evaluation
from mcts.ledger import Ledger
from mcts.world import Answer

Phase = Literal["searching", "confirming"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to stop: after so many trials (failures included), minutes, US dollars or tokens of
    language models, or minutes that candidates were judged."""

    evaluations: int
    minutes: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    gpu_minutes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a run stands, for a display. Times in microseconds; `last` is one line."""

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


def progress_of(
    ledger: Ledger,
    *,
    budget: Budget,
    in_flight: int,
    elapsed_s: float,
    last: str,
    replaying: bool,
    phase: Phase,
) -> Progress:
    """Where the ledger stands; before the baseline is measured, times are None."""
    baseline = ledger.evaluations.get(0)
    best = ledger.verdict(ledger.best()) if baseline else None
    return Progress(
        evaluations=ledger.told,
        budget=budget.evaluations,
        unique=ledger.unique,
        failed=ledger.failed,
        in_flight=in_flight,
        nodes=len(ledger.evaluations),
        baseline_us=baseline.timing.median_us if baseline and baseline.timing else None,
        best_us=best.timing.median_us if best and best.timing else None,
        best_speedup=best.speedup if best else None,
        elapsed_s=elapsed_s,
        last=last,
        replaying=replaying,
        phase=phase,
    )


def status_words(evaluation: Evaluation) -> str:
    """The status, and of a refusal the class of what was seen."""
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
    return f"node {line['trial']}: {text}{again}"
