"""What a comparison of runs comes to: entries, standings, duels."""

from __future__ import annotations

from experiments.benchmarks.comparing.runs import ComparedRun
from mcts.domain import Noun


class Standing(Noun):
    """The runs of one arm on one task: geometric mean of their speedups, the least, the greatest.

    Of a single run `low` and `high` are its own 95 % interval. evaluations, failed: means.
    cost_usd, gpu_s: sums, null if one of them is not known.
    """

    task: str
    arm: str
    runs: int
    speedup: float
    low: float
    high: float
    evaluations: float
    failed: float
    seconds: float
    cost_usd: float | None
    gpu_s: float | None


class Duel(Noun):
    """The reference against another arm on the tasks that both ran.

    ratio: geometric mean over tasks of its speedup over the arm's. low, high: 95 % interval; over
    seeds, for these very tasks, where runs can be paired by seed, and from the two measurements
    where there is one pair; null if neither can be. wins, ties, losses: the reference's, pair by
    pair, where a tie is two intervals that overlap. by_seed: whether pairs share their seed.
    """

    arm: str
    tasks: tuple[str, ...]
    ratio: float
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    by_seed: bool

    @property
    def pairs(self) -> int:
        return self.wins + self.ties + self.losses


class Entry(Noun):
    """A run with the arm and the task that it is shown under."""

    arm: str
    task: str
    run: ComparedRun


class RunComparison(Noun):
    """All that comparing runs finds. `warnings` say what cannot be told from them."""

    reference: str
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    entries: tuple[Entry, ...]
    standings: tuple[Standing, ...]
    duels: tuple[Duel, ...]
    warnings: tuple[str, ...]

    def of(self, arm: str, task: str) -> tuple[ComparedRun, ...]:
        """The runs of one arm on one task, by seed."""
        found = [one.run for one in self.entries if (one.arm, one.task) == (arm, task)]
        return tuple(sorted(found, key=lambda run: run.seed))
