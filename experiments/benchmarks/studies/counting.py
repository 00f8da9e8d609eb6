"""An evaluator that counts what a run measures, and follows its true best."""

from __future__ import annotations

from experiments.benchmarks.studies.recorded_task import TaskFacts
from mcts.domain import Candidate, Evaluation, Hardware, Profile
from mcts.ports import Evaluator
from profilers.recordings.recording import Recording
from profilers.recordings.replay import ReplayEvaluator


class CountingEvaluator(Evaluator):
    """Counts unique evaluations, failures included and the baseline not, and follows the best.

    The run decides by the times it sees, which have noise; `best` holds the speedup by recorded
    median times, so that no arm gains from lucky measurements.
    """

    name = "replay"

    def __init__(self, evaluator: ReplayEvaluator, recording: Recording, facts: TaskFacts) -> None:
        self.task = evaluator.task
        self._evaluator, self._recording, self._facts = evaluator, recording, facts
        self._seen: set[str] = {evaluator.task.baseline.id}
        self._fastest_seen = 1.0
        self.best: list[tuple[int, float]] = []
        self.to_target: int | None = None
        self.unique = self.failed = 0

    @property
    def hardware(self) -> Hardware:
        return self._evaluator.hardware

    @property
    def spent(self) -> bool:
        """Whether the run has had all of its unique evaluations; what comes later is not kept."""
        return self.unique >= self._facts.length

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """As the recording says. Raises NotRecorded, which counts as no evaluation."""
        evaluation = self._evaluator.evaluate(candidate)
        if candidate.id not in self._seen and not self.spent:
            self._seen.add(candidate.id)
            self.unique += 1
            self._note(candidate, evaluation)
        return evaluation

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return self._evaluator.profile(candidate, evaluation)

    def close(self) -> None:
        self._evaluator.close()

    def _note(self, candidate: Candidate, evaluation: Evaluation) -> None:
        record = self._recording.find(candidate.tunables)
        time_us = record.time_us if record is not None else None
        if evaluation.speedup is None or time_us is None:
            self.failed += 1
            return
        target_us = self._facts.target_us
        if self.to_target is None and target_us is not None and time_us <= target_us:
            self.to_target = self.unique
        if evaluation.speedup > self._fastest_seen:
            self._fastest_seen = evaluation.speedup
            self.best.append((self.unique, round(self._facts.baseline_us / time_us, 6)))
