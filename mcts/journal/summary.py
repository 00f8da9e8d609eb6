"""What a run comes to: one record of every figure that is reported of it.

The closing words, the report, `--json`, `run.json` and comparisons of runs all take a RunSummary.
A figure that is added here is in the JSON under its name, unless it is marked `exclude`. What
people read of it is worded in `experiments.views.figures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_serializer

from mcts.domain import Attribution, Evaluation, Noun, Timing
from mcts.domain.evaluation import ShapeTiming
from mcts.journal.record import NodeRecord, Result
from mcts.journal.spending import Spending
from mcts.options.search import Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who did the run, on what: taken from the journal, so that it is what really happened."""

    task: str
    evaluator: str
    proposer: str
    hardware: str
    seed: int

    @property
    def replayed(self) -> bool:
        """Whether measurements came from a recording, and took no GPU."""
        return self.evaluator == "replay"

    def __str__(self) -> str:
        return (
            f"task {self.task}, evaluator {self.evaluator}, proposer {self.proposer}, "
            f"hardware {self.hardware}, seed {self.seed}"
        )


class Spent(Noun):
    """What was spent; null is not known. `gpu_s`: seconds of judging, null for a replay;
    `unpriced` and `uncounted` say of how many of the `replies` cost and tokens are not in the sums.
    """

    cost_usd: float | None
    tokens: int | None
    gpu_s: float | None
    replies: int
    unpriced: int
    uncounted: int

    @classmethod
    def of(cls, spending: Spending, *, replayed: bool) -> Self:
        asked = spending.replies > 0
        priced = not asked or spending.unpriced < spending.replies or spending.cost > 0
        counted = not asked or spending.tokens > 0
        return cls(
            cost_usd=spending.cost_usd if priced else None,
            tokens=spending.tokens if counted else None,
            gpu_s=None if replayed or spending.gpu_s == 0 else round(spending.gpu_s, 3),
            replies=spending.replies,
            unpriced=spending.unpriced,
            uncounted=spending.uncounted,
        )


class Shape(Noun):
    """One of several timed workloads: times in microseconds, speedups over the baseline."""

    workload: str
    weight: float
    time_us: float
    low_us: float
    high_us: float
    baseline_us: float
    speedup: float
    speedup_low: float
    speedup_high: float
    regressed: bool

    @classmethod
    def of(cls, shape: ShapeTiming) -> Self:
        known = {name: getattr(shape, name) for name in cls.model_fields if name != "time_us"}
        return cls(time_us=shape.median_us, **known)


class BestKernel(Noun):
    """The kernel to hand back: times in microseconds, energy in millijoules per call.

    The speedup is over `over`, and the confirmed one if `confirmed`; `searched_speedup` is what
    the search saw of the same kernel. shapes: empty if one workload alone was timed.
    compared_by: how the times of kernels were compared; by their own where the baseline's speedup
    over itself has so wide an interval (`against_itself`) that speedups say less.
    node, verdict, searched: where it stands in the tree, the evaluation that counts and the one of
    the search. finalists, held: how many were measured again, and were a result again.
    """

    baseline_us: float
    best_us: float
    speedup: float
    over: str
    speedup_low: float
    speedup_high: float
    confirmed: bool
    searched_speedup: float | None
    compared_by: Literal["speedup", "own time"]
    detectable: float | None
    shapes: tuple[Shape, ...]
    regressions: tuple[str, ...]
    objective: Objective
    energy_mj: float | None
    energy_low_mj: float | None
    energy_high_mj: float | None
    baseline_energy_mj: float | None
    isolation: str | None
    notes: tuple[str, ...]
    against_itself: tuple[float, float] | None = Field(exclude=True)
    node: int = Field(exclude=True)
    verdict: Evaluation = Field(exclude=True)
    searched: Evaluation | None = Field(exclude=True)
    finalists: int = Field(exclude=True)
    held: int = Field(exclude=True)

    @classmethod
    def of(cls, result: Result) -> Self:
        best = result.best
        verdict, timing = verdict_of(best), timing_of(best)
        energy, against_itself = verdict.energy, _against_itself(result)
        return cls(
            baseline_us=timing.baseline_us,
            best_us=timing.median_us,
            speedup=timing.speedup,
            over=timing.baseline,
            speedup_low=timing.speedup_low,
            speedup_high=timing.speedup_high,
            confirmed=best.confirmed is not None,
            searched_speedup=best.speedup,
            compared_by="speedup" if against_itself is None else "own time",
            detectable=timing.detectable,
            shapes=tuple(map(Shape.of, timing.shapes)),
            regressions=timing.regressions,
            objective=result.objective,
            energy_mj=energy.energy_mj if energy else None,
            energy_low_mj=energy.low_mj if energy else None,
            energy_high_mj=energy.high_mj if energy else None,
            baseline_energy_mj=energy.baseline_mj if energy else None,
            isolation=str(verdict.isolation) if verdict.isolation else None,
            notes=verdict.notes,
            against_itself=against_itself,
            node=best.id,
            verdict=verdict,
            searched=best.evaluation,
            finalists=len(result.confirmed),
            held=sum(again.measured for again in result.confirmed.values()),
        )

    @property
    def timing(self) -> Timing:
        """The timing that counts."""
        assert self.verdict.timing is not None
        return self.verdict.timing


def _against_itself(result: Result) -> tuple[float, float] | None:
    found = result.baseline.evaluation
    if found is None or found.timing is None or result.ranking.reference_us is None:
        return None
    return found.timing.speedup_low, found.timing.speedup_high


class Attributed(Noun):
    """What a method is worth at a node. In JSON one flat object; `by` is what took it out."""

    node: int
    found: Attribution

    @model_serializer
    def _flat(self) -> dict[str, Any]:
        found = self.found
        by = "tunable" if found.tunables else "proposer" if found.without is not None else None
        return {"node": self.node, **found.model_dump(mode="json"), "by": by}


class Totals(Noun):
    """The run's sums, as `mcts.journal.record.Result` has them; `stages_s` are the seconds of all
    trials by what was done in them."""

    evaluations: int
    unique: int
    failed: int
    unrecorded: int = 0
    seconds: float
    stages_s: dict[str, float]
    stop_reason: str
    tree_digest: str
    spent: Spent

    @classmethod
    def of(cls, result: Result, *, replayed: bool) -> Self:
        stages = {stage: round(seconds, 3) for stage, seconds in sorted(result.stages.items())}
        return cls(
            evaluations=result.evaluations,
            unique=result.unique,
            failed=result.failed,
            unrecorded=result.unrecorded,
            seconds=round(result.seconds, 3),
            stages_s=stages,
            stop_reason=result.stop_reason,
            tree_digest=result.tree_digest,
            spent=Spent.of(result.spending, replayed=replayed),
        )


class RunSummary(Noun):
    """A run in figures.

    refused: distinct candidates that were refused, finalists included, by the class of what was
    seen. restarts: branches that became nodes of their own later, of the `branch_values` that
    `branched` proposals had beside the one that was kept. spending: with money as exact decimals.
    """

    task: str
    evaluator: str
    proposer: str
    hardware: str
    best: BestKernel
    refused: dict[str, int]
    totals: Totals
    restarts: int
    attributions: tuple[Attributed, ...]
    seed: int = Field(exclude=True)
    replayed: bool = Field(exclude=True)
    spending: Spending = Field(exclude=True)
    branched: int = Field(exclude=True)
    branch_values: int = Field(exclude=True)

    @classmethod
    def of(cls, run: Provenance, result: Result) -> Self:
        """The figures of a run whose baseline was measured."""
        nodes = result.nodes
        return cls(
            task=run.task,
            evaluator=run.evaluator,
            proposer=run.proposer,
            hardware=run.hardware,
            best=BestKernel.of(result),
            refused=_refusals(result),
            totals=Totals.of(result, replayed=run.replayed),
            restarts=sum(node.restarted for node in nodes),
            attributions=tuple(
                Attributed(node=node.id, found=found)
                for node in nodes
                for found in node.attributions
            ),
            seed=run.seed,
            replayed=run.replayed,
            spending=result.spending,
            branched=sum(bool(node.branches) for node in nodes),
            branch_values=sum(len(node.branches) for node in nodes),
        )


def flat(record: Noun) -> dict[str, Any]:
    """A record as one JSON object, the fields of the records within it beside its own."""
    found: dict[str, Any] = {}
    inner = {name: value for name, value in record if isinstance(value, Noun)}
    for name, value in record.model_dump(mode="json").items():
        found |= flat(inner[name]) if name in inner else {name: value}
    return found


def verdict_of(node: NodeRecord) -> Evaluation:
    """The evaluation that counts of a node that has one."""
    assert node.verdict is not None
    return node.verdict


def timing_of(node: NodeRecord) -> Timing:
    """The timing that counts of a measured node: the confirmed one if it was measured again."""
    timing = verdict_of(node).timing
    assert timing is not None
    return timing


def _refusals(result: Result) -> Mapping[str, int]:
    seen = {
        verdict.candidate_id: verdict.refusal.cheat
        for node in result.nodes
        if (verdict := node.verdict) is not None and verdict.refusal is not None
    }
    return dict(sorted(Counter(seen.values()).items()))
