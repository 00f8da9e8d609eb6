"""A study's task with its recording, and the facts that comparisons need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from experiments.benchmarks.studies.config import Study
from experiments.benchmarks.studies.space import RecordedSpace
from experiments.runs.options.config import file_sha256
from experiments.runs.tasks.files import TaskSource, find_task
from mcts.domain import KernelTask, Noun
from mcts.errors import InputError
from profilers.recordings.recording import Recording
from profilers.recordings.replay import ReplayEvaluator, restricted_to_recorded
from profilers.recordings.t4 import load_recording


class TaskFacts(Noun):
    """What a comparison needs to know of a task. Times in microseconds.

    budget: unique evaluations after which speedups are compared. length: unique evaluations of a
    run, which may be more, because speedups are also compared at fixed numbers.
    """

    given: str
    name: str
    task_id: str
    recording_sha256: str
    hardware: str
    valid: int
    failed: int
    baseline_us: float
    median_us: float
    optimum_us: float
    target_us: float
    random_budget: int
    budget: int
    length: int
    expected_random_us: tuple[float, ...]


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


@lru_cache(maxsize=64)
def recorded_task(given: str) -> RecordedTask:
    """Load a task with its latest recording. InputError if it has none."""
    source = find_task(given)
    if not source.recordings:
        raise InputError(f"task {given} has no recording: a study replays; record one first")
    path = source.recordings[-1]
    return RecordedTask(source, load_recording(path), file_sha256(path))
