"""One run of a study: an arm on a task with a seed, in a run folder, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.benchmarks.model_studies.config import ModelArm
from mcts.domain import Evaluation, Noun, tagged_hash
from mcts.journal.record import Result
from mcts.options import ModelOptions
from profilers.recordings.recording import Recording


class TaskOfStudy(Noun):
    """A task as the study was given it, and what it is."""

    given: str
    name: str
    task_id: str


class Gain(Noun):
    """A speedup with its 95 % interval."""

    speedup: float
    low: float
    high: float

    @classmethod
    def of(cls, evaluation: Evaluation | None) -> Gain | None:
        """That of a measured evaluation; None of any other."""
        if evaluation is None or evaluation.timing is None or evaluation.speedup is None:
            return None
        timing = evaluation.timing
        found = evaluation.speedup, timing.speedup_low, timing.speedup_high
        speedup, low, high = (round(value, 6) for value in found)
        return cls(speedup=speedup, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run to do."""

    study: str
    arm: str
    arm_id: str
    spec: ModelArm
    options: ModelOptions
    task: TaskOfStudy
    seed: int
    trials: int
    finalists: int
    over_compile: bool
    near: float | None
    version: str

    @property
    def key(self) -> str:
        """Equal for runs that must give the same line, however the arm is called."""
        return tagged_hash(
            "model-cell",
            {
                "study": self.study,
                "arm": self.arm_id,
                "task": self.task.task_id,
                "seed": self.seed,
                "trials": self.trials,
                "finalists": self.finalists,
                "over_compile": self.over_compile,
                "near": self.near,
                "version": self.version,
            },
        )

    @property
    def task_key(self) -> str:
        """Equal for runs of one task."""
        return self.task.name

    @property
    def place(self) -> str:
        """Its run folder's name in the study's."""
        return f"{self.arm}/{self.task.name}-{self.seed}"


class ModelCellResult(Noun):
    """What a study keeps of a run: one line of JSON.

    best: [trials, speedup] whenever a trial became the best so far, as the search measured it.
    winner: the candidate to hand back, None if none was right and faster; final: its speedup,
    measured again if it was; compiled: the same over torch.compile. replies: how many were asked
    for, cached ones included; unusable: trials whose replies held no candidate; unrecorded:
    proposals that the recording does not hold, which are no trials. near: distinct candidates
    evaluated until one came near the best recorded, None if none did or the study does not ask. The
    cost is what this run paid: an answer that another run has paid for costs nothing.
    """

    key: str
    arm: str
    task: str
    seed: int
    best: tuple[tuple[int, float], ...]
    winner: str | None
    final: Gain | None
    compiled: Gain | None = None
    trials: int
    failed: int
    unusable: int
    unrecorded: int = 0
    near: int | None = None
    replies: int
    tokens: int | None
    cost_usd: float | None
    stopped: str
    digest: str

    def speedup_at(self, trials: int) -> float:
        """The best so far after so many trials; 1 before anything was better."""
        at = 1.0
        for count, speedup in self.best:
            if count > trials:
                break
            at = speedup
        return at

    @property
    def kept(self) -> float:
        """What a user ends with: the winner's speedup, 1 without a winner."""
        return max(1.0, self.final.speedup) if self.final is not None else 1.0


def evaluations_to(result: Result, recording: Recording, share: float) -> int | None:
    """Distinct candidates evaluated, the baseline not, until one's recorded time was within `share`
    of the least; None if none was.
    """
    times = [time for record in recording.configurations if (time := record.time_us) is not None]
    enough = (1 + share) * min(times)
    seen = {result.baseline.candidate.id} if result.baseline.candidate else set()
    for node in result.nodes[1:]:
        if node.candidate is None or node.evaluation is None or node.candidate.id in seen:
            continue
        seen.add(node.candidate.id)
        record = recording.find(node.candidate.tunables)
        if record is not None and record.time_us is not None and record.time_us <= enough:
            return len(seen) - 1
    return None


def line_of(
    cell: Cell, result: Result, *, compiled: Gain | None, recording: Recording | None = None
) -> ModelCellResult:
    """The line of a run that has ended."""
    best: list[tuple[int, float]] = []
    trials = 0
    for node in result.nodes[1:]:
        trials += not node.restarted
        evaluation = node.evaluation
        if evaluation is None or evaluation.speedup is None or evaluation.held_back:
            continue
        if not best or evaluation.speedup > best[-1][1]:
            best.append((trials, round(evaluation.speedup, 6)))
    found = result.best
    spent = result.spending
    won = found.id > 0 and found.candidate is not None
    return ModelCellResult(
        key=cell.key,
        arm=cell.arm,
        task=cell.task.name,
        seed=cell.seed,
        best=tuple(best),
        winner=found.candidate.id if won and found.candidate else None,
        final=Gain.of(found.verdict) if won else None,
        compiled=compiled,
        trials=result.evaluations,
        failed=result.failed,
        unusable=sum(node.kind == "rejected" for node in result.nodes),
        unrecorded=result.unrecorded,
        near=None
        if cell.near is None or recording is None
        else evaluations_to(result, recording, cell.near),
        replies=spent.replies,
        tokens=None if spent.uncounted else spent.tokens,
        cost_usd=None if spent.unpriced else spent.cost_usd,
        stopped=result.stop_reason,
        digest=result.tree_digest,
    )
