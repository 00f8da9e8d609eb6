"""The field's metrics over a suite: pass rate, fast_p and geometric means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.benchmarks.suite.outcome import Gain, Outcome
from mcts.journal.spending import money

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0)
EAGER, TORCH_COMPILE = "eager PyTorch", "torch.compile"
"""The baselines, as `Gain.over` calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Speedups over one baseline.

    problems: how many are counted. fast: by p, the share of them that is both correct and has a
    speedup greater than p; with p = 0 it is the share that is correct (KernelBench, "Metric
    Design").
    geomean_correct is over correct ones alone, geomean_all over all, a problem without a correct
    kernel as 1.0: its user keeps what there was. None if there is nothing to take it of.
    """

    over: str
    problems: int
    correct: int
    fast: dict[float, float]
    geomean_correct: float | None
    geomean_all: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A suite in figures.

    `counted` are the problems that were searched or should have been: those that the task gate
    refused (`unfair`) are left out. `compiled` counts the same problems but those whose correct
    kernel was not measured against torch.compile. Costs and tokens are sums of what is known, None
    where nothing is; `unpriced` replies are not in the cost.
    """

    counted: int
    correct: int
    failed: int
    errors: int
    unfair: tuple[str, ...]
    eager: Scores
    compiled: Scores
    evaluations: int
    cost_usd: float | None
    unpriced: int
    tokens: int | None
    seconds: float

    @property
    def pass_rate(self) -> float | None:
        return self.correct / self.counted if self.counted else None


def summarize(outcomes: Sequence[Outcome]) -> Summary:
    """The figures of the problems that are done."""
    counted = [outcome for outcome in outcomes if outcome.status != "unfair"]
    correct = [outcome for outcome in counted if outcome.status == "correct"]
    against = [outcome for outcome in counted if outcome not in correct or outcome.compiled]
    return Summary(
        counted=len(counted),
        correct=len(correct),
        failed=sum(outcome.status == "failed" for outcome in counted),
        errors=sum(outcome.status == "error" for outcome in counted),
        unfair=tuple(outcome.name for outcome in outcomes if outcome.status == "unfair"),
        eager=scores(EAGER, [_gain(outcome, outcome.eager) for outcome in counted]),
        compiled=scores(TORCH_COMPILE, [_gain(outcome, outcome.compiled) for outcome in against]),
        evaluations=sum(outcome.spent.evaluations for outcome in outcomes),
        cost_usd=cost_of(outcomes),
        unpriced=sum(outcome.spent.unpriced for outcome in outcomes),
        tokens=_tokens_of(outcomes),
        seconds=sum(outcome.spent.seconds for outcome in outcomes),
    )


def scores(over: str, speedups: Sequence[float | None]) -> Scores:
    """The metrics of speedups, None for a problem without a correct kernel."""
    correct = [speedup for speedup in speedups if speedup is not None]
    return Scores(
        over=over,
        problems=len(speedups),
        correct=len(correct),
        fast={p: fast(speedups, p) for p in THRESHOLDS} if speedups else {},
        geomean_correct=geomean(correct),
        geomean_all=geomean([1.0 if speedup is None else speedup for speedup in speedups]),
    )


def fast(speedups: Sequence[float | None], p: float) -> float:
    """fast_p (KernelBench, "Metric Design"): share both correct and over p times as fast."""
    return sum(speedup is not None and speedup > p for speedup in speedups) / len(speedups)


def geomean(speedups: Sequence[float]) -> float | None:
    """The geometric mean; None of nothing."""
    if not speedups:
        return None
    return math.exp(math.fsum(map(math.log, speedups)) / len(speedups))


def _gain(outcome: Outcome, gain: Gain | None) -> float | None:
    return gain.speedup if outcome.status == "correct" and gain is not None else None


def cost_of(outcomes: Iterable[Outcome]) -> float | None:
    """US dollars in all, summed as decimals: cents add up. None if no cost is known."""
    known = [cost for outcome in outcomes if (cost := money(outcome.spent.cost_usd)) is not None]
    return float(sum(known)) if known else None


def _tokens_of(outcomes: Iterable[Outcome]) -> int | None:
    known = [outcome.spent.tokens for outcome in outcomes if outcome.spent.tokens is not None]
    return sum(known) if known else None
