"""A study's task with its recording, and the facts that comparisons need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from experiments.benchmarks.studies.arms import check_arms
from experiments.benchmarks.studies.config import Study
from experiments.benchmarks.studies.space import RecordedSpace
from experiments.runs.options.config import file_sha256
from experiments.runs.tasks.files import TaskSource, find_task
from experiments.runs.wiring.choosing import resolve_settings
from mcts.domain import KernelTask, Noun
from mcts.errors import InputError
from mcts.journal.in_memory import MemoryJournal
from mcts.loop.optimizer import Budget, Optimizer, Result
from mcts.loop.synchronous import SynchronousExecutor
from mcts.options import Algorithm
from mcts.ports import Proposer
from microtools.advisor import RooflineAdvisor
from profilers.recordings.recording import Recording
from profilers.recordings.replay import ReplayEvaluator, restricted_to_recorded
from profilers.recordings.t4 import load_recording


class TaskFacts(Noun):
    """What a comparison needs to know of a task. Times in microseconds.

    recording_sha256: hash of what is replayed. budget: unique evaluations after which speedups are
    compared. length: unique evaluations of a run, which may be more, because speedups are also
    compared at fixed numbers. valid, failed: how many recorded configurations, or replies, were
    measured and how many were not.

    Only a recorded space has an optimum, a target and what random search comes to. Only a tree of
    expansions has `recorded_best`, the greatest speedup in it: each variant was timed beside the
    baseline there.
    """

    given: str
    name: str
    task_id: str
    recording_sha256: str
    hardware: str
    valid: int
    failed: int
    baseline_us: float
    median_us: float | None = None
    optimum_us: float | None = None
    target_us: float | None = None
    random_budget: int | None = None
    budget: int
    length: int
    expected_random_us: tuple[float, ...] | None = None
    recorded_best: float | None = None

    @property
    def best(self) -> float:
        """The greatest speedup recorded."""
        if self.recorded_best is not None:
            return self.recorded_best
        assert self.optimum_us is not None, "a recorded space has an optimum"
        return self.baseline_us / self.optimum_us

    @property
    def target(self) -> float | None:
        """The target as a speedup; None if there is none."""
        return None if self.target_us is None else self.baseline_us / self.target_us


@dataclass(frozen=True)
class RecordedTask:
    """A task with its recording, which has the true time of every configuration."""

    source: TaskSource
    recording: Recording
    recording_sha256: str

    @cached_property
    def task(self) -> KernelTask:
        """With the combinations that were recorded."""
        return restricted_to_recorded(self.source.task, self.recording)

    def search(self, proposer: Proposer, *, evaluations: int, seed: int) -> Result:
        """The tree search as `rooftree optimize` has it, on what was recorded; nothing is written
        to disk, and no finalist is measured again.
        """
        search, reward = resolve_settings(Algorithm(name="puct"))
        return Optimizer(
            task=self.task,
            proposer=proposer,
            evaluator=self.evaluator(seed),
            advisor=RooflineAdvisor(),
            journal=MemoryJournal(),
            budget=Budget(evaluations=evaluations),
            search_settings=search,
            reward_settings=reward,
            seed=seed,
            finalists=0,
            executor=SynchronousExecutor(),
        ).run()

    @cached_property
    def space(self) -> RecordedSpace:
        records = self.recording.configurations
        times = tuple(record.time_us for record in records if record.time_us is not None)
        baseline = self.recording.find(self.task.baseline.tunables)
        if baseline is None or baseline.time_us is None:
            raise InputError(f"{self.recording.origin}: the baseline was not measured")
        return RecordedSpace(
            times_us=times, failed=len(records) - len(times), baseline_us=baseline.time_us
        )

    def facts(self, study: Study) -> TaskFacts:
        space = self.space
        size = len(space.times_us) + space.failed - 1
        wanted = space.random_budget if study.budget == "random" else study.budget
        budget = min(wanted, study.most, size)
        length = min(max(budget, *study.at), study.most, size) if study.at else budget
        return TaskFacts(
            given=self.source.given,
            name=self.task.name,
            task_id=self.task.id,
            recording_sha256=self.recording_sha256,
            hardware=str(self.recording.hardware),
            valid=len(space.times_us),
            failed=space.failed,
            baseline_us=space.baseline_us,
            median_us=space.median_us,
            optimum_us=space.optimum_us,
            target_us=space.target_us,
            random_budget=space.random_budget,
            budget=budget,
            length=length,
            expected_random_us=tuple(space.expected_best_us[:length].tolist()),
        )

    def evaluator(self, seed: int) -> ReplayEvaluator:
        """A replay whose noise depends on `seed` alone, so that the arms' runs form pairs."""
        return ReplayEvaluator(self.task, self.recording, seed=seed)


def facts_of(study: Study) -> tuple[TaskFacts, ...]:
    """The facts of the study's tasks. InputError for a task or an arm that cannot be run."""
    recorded = [recorded_task(given) for given in study.tasks]
    check_arms(study, recorded[0].task, recorded[0].recording.hardware)
    return tuple(one.facts(study) for one in recorded)


def summary_of(facts: TaskFacts) -> str:
    """One line about a task of a study."""
    longer = ", the last point of `at`" if facts.length > facts.budget else ""
    return (
        f"{facts.name}: {facts.valid} valid and {facts.failed} failing configurations, best "
        f"{facts.best:.2f}x, target {facts.target:.2f}x, budget {facts.budget}, runs of "
        f"{facts.length}{longer}"
    )


@lru_cache(maxsize=64)
def recorded_task(given: str) -> RecordedTask:
    """Load a task with its latest recording. InputError if it has none."""
    source = find_task(given)
    if not source.recordings:
        raise InputError(f"task {given} has no recording: a study replays; record one first")
    path = source.recordings[-1]
    return RecordedTask(source, load_recording(path), file_sha256(path))
