"""Runs to hand over without a search: a bundled task with a chosen variant as its best."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from experiments.deliverables.best import Delivery
from experiments.runs.options.config import RunConfig
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.views.summary import RunFacts
from mcts.domain import Candidate, Evaluation, KernelTask, Scalar, Timing, Verification
from mcts.journal.record import NodeRecord, Result
from mcts.options import JudgingOptions, SearchOptions


def measured(candidate: Candidate, speedup: float) -> Evaluation:
    """An evaluation with this speedup, known to a percent."""
    return Evaluation(
        candidate_id=candidate.id,
        status="measured",
        verification=Verification(passed=True, rounds=4),
        timing=Timing(
            median_us=100 / speedup,
            low_us=99 / speedup,
            high_us=101 / speedup,
            baseline_us=100,
            speedup=speedup,
            speedup_low=0.99 * speedup,
            speedup_high=1.01 * speedup,
            rounds=20,
        ),
    )


def node(id: int, candidate: Candidate, *, parent: int | None, speedup: float) -> NodeRecord:
    return NodeRecord(
        id=id,
        parent=parent,
        kind="measured",
        candidate=candidate,
        evaluation=measured(candidate, speedup),
        guidance=None,
        reward=0.5,
        prior=1.0,
        visits=1,
        value=0.5,
    )


def delivery_of(
    source: TaskSource, candidate: Candidate, *, speedup: float = 2.0, kernel: Path | None = None
) -> Delivery:
    """A run whose one trial brought `candidate`; it began with `kernel`, if that is given."""
    task = source.task
    nodes = (
        node(0, task.baseline, parent=None, speedup=1.0),
        node(1, candidate, parent=0, speedup=speedup),
    )
    result = Result(
        nodes=nodes,
        stop_reason="evaluations spent",
        evaluations=1,
        unique=1,
        failed=0,
        seconds=1.0,
        tree_digest="tree-0",
    )
    config = RunConfig(
        rooftree="0", task=source.given, task_name=task.name,
        judging=JudgingOptions(evaluator="gpu", kernel=kernel),
        search=SearchOptions(proposer="scripted"),
    )  # fmt: skip
    facts = RunFacts(
        task=task.name, evaluator="gpu", proposer="scripted", hardware="Paper GPU", seed=0
    )
    return Delivery(
        run_dir=Path("run"), config=config, source=source, events=(), facts=facts, result=result
    )


def variant(task: KernelTask, tunables: Mapping[str, Scalar]) -> Candidate:
    return Candidate(source=task.baseline.source, tunables={**task.baseline.tunables, **tunables})


def bundled_variants(name: str, count: int, *, seed: int = 0) -> list[Delivery]:
    """Some allowed configurations of a bundled task, drawn evenly."""
    source = find_task(name)
    space, rng = source.task.space, random.Random(f"{name} {seed}")
    found: list[Delivery] = []
    while len(found) < count:
        values = {key: rng.choice(item.values) for key, item in space.tunables.items()}
        if source.task.allows(space, values):
            found.append(delivery_of(source, variant(source.task, values)))
    return found
