"""One run of a study: one arm on one task with one seed, and what is kept of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from experiments.benchmarks.studies.arms import proposer_of, settings_of
from experiments.benchmarks.studies.config import SEARCH, Arm, StudyKind, arm_id
from experiments.benchmarks.studies.counting import CountingEvaluator
from experiments.benchmarks.studies.recorded_task import TaskFacts, recorded_task
from experiments.runs.memory.knowledge import knowledge_from
from mcts.domain import Noun, tagged_hash
from mcts.journal.in_memory import MemoryJournal
from mcts.knowledge.base import Knowledge
from mcts.loop.optimizer import Budget, Optimizer
from mcts.loop.progress import Progress
from mcts.loop.synchronous import SynchronousExecutor
from microtools.advisor import RooflineAdvisor

TRIALS_PER_EVALUATION = 5
"""A run that only repeats proposals is stopped after so many trials per evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run to do; picklable, for another process."""

    arm: str
    task: str
    seed: int
    spec: Arm
    facts: TaskFacts
    version: str
    kind: StudyKind = SEARCH

    @property
    def key(self) -> str:
        """Equal for runs that must give the same line, however the arm is called."""
        return tagged_hash(
            "cell",
            {
                "arm": arm_id(self.spec),
                "task": self.facts.task_id,
                "recording": self.facts.recording_sha256,
                "length": self.facts.length,
                "seed": self.seed,
                "version": self.version,
            },
        )


class CellResult(Noun):
    """What a study keeps of a run: one line of JSON.

    best: [unique evaluations, true speedup] whenever another variant became the run's best so far.
    to_target: the first unique evaluation at or below the target time, None if there was none.
    missing: on recorded expansions, how often a search wanted a child of a parent that had none
    left; its unique evaluations are then its trials.
    digest: the hash of the run's tree.
    """

    key: str
    arm: str
    task: str
    seed: int
    best: tuple[tuple[int, float], ...]
    to_target: int | None
    unique: int = Field(ge=0)
    failed: int = Field(ge=0)
    trials: int = Field(ge=0)
    stopped: str
    digest: str
    seconds: float
    missing: int | None = None

    @model_serializer(mode="wrap")
    def _without_none_missing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Lines of runs in which nothing can be missing are as they were before it was counted."""
        content: dict[str, Any] = dump(self)
        if self.missing is None:
            content.pop("missing", None)
        return content

    def speedup_at(self, evaluations: int) -> float:
        """True speedup of the best so far after `evaluations`; 1 before anything was better."""
        at = 1.0
        for count, speedup in self.best:
            if count > evaluations:
                break
            at = speedup
        return at


def run_cell(cell: Cell) -> CellResult:
    """Run it, with nothing written to disk. Raises InputError and WorldError as runs do."""
    began = time.perf_counter()
    recorded = recorded_task(cell.facts.given)
    counting = CountingEvaluator(recorded.evaluator(cell.seed), recorded.recording, cell.facts)
    search, reward = settings_of(cell.spec, length=cell.facts.length)
    optimizer = Optimizer(
        task=recorded.task,
        proposer=proposer_of(cell.spec, recorded.task, counting.hardware),
        knowledge=_known(cell.spec.memory, recorded.task.name),
        evaluator=counting,
        advisor=RooflineAdvisor(),
        journal=MemoryJournal(),
        budget=Budget(
            evaluations=TRIALS_PER_EVALUATION * cell.facts.length,
            stop_within=cell.spec.stop_within,
        ),
        search_settings=search,
        reward_settings=reward,
        seed=cell.seed,
        parallel=cell.spec.parallel,
        finalists=0,
        executor=SynchronousExecutor(),
    )

    def stop_when_spent(_: Progress) -> None:
        if counting.spent:
            optimizer.stop()

    optimizer.reporter.on_progress = stop_when_spent
    result = optimizer.run()
    return CellResult(
        key=cell.key,
        arm=cell.arm,
        task=cell.task,
        seed=cell.seed,
        best=tuple(counting.best),
        to_target=counting.to_target,
        unique=counting.unique,
        failed=counting.failed,
        trials=result.evaluations,
        stopped="budget spent" if counting.spent else result.stop_reason,
        digest=result.tree_digest,
        seconds=round(time.perf_counter() - began, 3),
    )


@lru_cache(maxsize=64)
def _known(memory: str, task: str) -> Knowledge:
    """What an arm knows before it starts, without what was learned on this very task."""
    return knowledge_from(memory, besides=task)
