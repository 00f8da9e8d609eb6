"""The results of a comparison of runs: entries, standings, duels."""

from __future__ import annotations

from experiments.benchmarks.comparing.runs import ComparedRun
from mcts.domain import Noun


class Standing(Noun):
    """The runs of one arm on one task: geometric mean of their speedups, the least, the greatest.

    For a single run `low` and `high` are the ends of its own 95 % interval. evaluations, failed:
    means. cost_usd, gpu_s: sums, null if one of them is not known.
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

    ratio: geometric mean over tasks of the reference's speedup over the arm's.
    low, high: ends of its 95 % interval. If runs are paired by seed it is over seeds, for these
        very tasks; if there is one pair, it is from the two measurements; otherwise null.
    wins, ties, losses: the reference's, pair by pair; a tie is two intervals that overlap.
    by_seed: whether pairs share their seed.
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
    """A run with the arm and the task under which it is shown."""

    arm: str
    task: str
    run: ComparedRun


class RunComparison(Noun):
    """All results of comparing runs; `warnings` say what limits them."""

    reference: str
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    entries: tuple[Entry, ...]
    standings: tuple[Standing, ...]
    duels: tuple[Duel, ...]
    warnings: tuple[str, ...]

    def of(self, arm: str, task: str) -> tuple[ComparedRun, ...]:
        """The runs of one arm on one task, by seed."""
        runs = [each.run for each in self.entries if (each.arm, each.task) == (arm, task)]
        return tuple(sorted(runs, key=lambda run: run.seed))
