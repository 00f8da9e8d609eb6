"""A study's reference against one of its arms, whatever is compared: the figures of pairs, the
family's correction, and what a comparison could not have seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.studies.statistics import (
    FEW_TASKS,
    detectable,
    hierarchical,
    holm,
    signed_rank,
    within_tasks,
)
from mcts.domain import Noun
from mcts.errors import InputError

Floats = NDArray[np.float64]


class PairedContest(Noun):
    """The reference against one arm by one measure.

    ratio: geometric mean over tasks of that over their pairs, above 1 if the reference is better.
    low, high: 95 % interval over tasks and pairs; low_here, high_here: over pairs alone, for these
    very tasks.
    p: exact two-sided signed-rank over all pairs, of which those inside the noise are ties (the
    ratio includes these); p_holm: after Holm over the whole family; p_tasks: over the tasks' means.
    wins, ties, losses: the reference's, pair by pair.
    detectable: the ratio that this study would find 4 times in 5; None if it finds none.
    """

    arm: str
    measure: str
    ratio: float
    low: float
    high: float
    low_here: float
    high_here: float
    p: float
    p_holm: float = 1.0
    p_tasks: float | None
    wins: int
    ties: int
    losses: int
    pairs: int
    detectable: float | None = None


@dataclass(frozen=True, slots=True)
class PairedFigures:
    """What pairs come to, as `PairedContest` has it.

    smallest_p_tasks: the least that p_tasks could have been. effect: matched-pairs rank-biserial.
    """

    ratio: float
    low: float
    high: float
    low_here: float
    high_here: float
    p: float
    p_tasks: float
    smallest_p_tasks: float
    effect: float
    wins: int
    ties: int
    losses: int
    pairs: int
    detectable: float | None

    def by_name(self, *, without: Sequence[str] = ()) -> dict[str, Any]:
        """The figures by name, but for some."""
        return {name: value for name, value in asdict(self).items() if name not in without}


def paired(
    by_task: Sequence[Floats], *, noise: float, alpha: float, family: int, seed: int
) -> PairedFigures:
    """Test pairs: by task, the logarithms of the reference's values over the arm's.

    Values within `noise`, a logarithm, are ties. `alpha` is that of the whole family of so many
    contests. `seed` is for the bootstrap.
    """
    pooled = np.concatenate([without_ties(values, noise) for values in by_task])
    over_pairs = signed_rank(pooled)
    wide, here = hierarchical(by_task, seed=seed), within_tasks(by_task, seed=seed)
    return PairedFigures(
        ratio=math.exp(wide.mean),
        low=math.exp(wide.low),
        high=math.exp(wide.high),
        low_here=math.exp(here.low),
        high_here=math.exp(here.high),
        p=over_pairs.p,
        p_tasks=signed_rank([float(values.mean()) for values in by_task]).p,
        smallest_p_tasks=2.0 ** (1 - len(by_task)),
        effect=over_pairs.effect,
        **win_counts(pooled),
        detectable=detectable(by_task, alpha=alpha / family, seed=seed, noise=noise),
    )


def without_ties(values: Floats, noise: float) -> Floats:
    """Differences for a test: those within `noise` are zero."""
    clear: Floats = np.where(np.abs(values) <= noise, 0.0, values)
    return clear


def win_counts(differences: Floats) -> dict[str, int]:
    """How many differences are for the reference, for neither and for the arm, and all together."""
    return {
        "wins": int((differences > 0).sum()),
        "ties": int((differences == 0).sum()),
        "losses": int((differences < 0).sum()),
        "pairs": len(differences),
    }


ContestT = TypeVar("ContestT", bound=PairedContest)


def corrected(contests: Sequence[ContestT]) -> tuple[ContestT, ...]:
    """The contests of a family with their p-values after Holm."""
    p_values = holm([contest.p for contest in contests])
    return tuple(
        contest.model_copy(update={"p_holm": p})
        for contest, p in zip(contests, p_values, strict=True)
    )


def chosen_reference(arms: Mapping[str, object], own: str, asked: str | None) -> str:
    """The arm that the others are compared with. InputError if the one asked for is none."""
    if asked is not None and asked not in arms:
        raise InputError(f"no arm {asked!r}: {', '.join(arms)}")
    return asked or own


def geometric_mean(
    values: Sequence[tuple[str, float]], seed: int
) -> tuple[float, float, float] | None:
    """Over tasks of those over their values, with its 95 % interval; None of nothing.

    values: pairs of a task and a value.
    """
    by_task: dict[str, list[float]] = {}
    for task, value in values:
        by_task.setdefault(task, []).append(math.log(value))
    if not by_task:
        return None
    found = hierarchical([np.array(logs) for logs in by_task.values()], seed=seed)
    return (math.exp(found.mean), math.exp(found.low), math.exp(found.high))


@dataclass(frozen=True, slots=True)
class Blind:
    """How many contests could miss a ratio that matters, and what the worst of them would find."""

    count: int
    worst: str


def blind_contests(
    contests: Sequence[ContestT], matters: Callable[[ContestT], float]
) -> Blind | None:
    """The contests that would not find a ratio of `matters`; None if all would."""
    blind = [one for one in contests if one.detectable is None or one.detectable > matters(one)]
    if not blind:
        return None
    worst = max(blind, key=lambda one: one.detectable or math.inf)
    seen = f"{worst.detectable:g}x" if worst.detectable else "none up to 5x"
    return Blind(
        len(blind), f"the worst, {worst.arm} by {worst.measure}, finds {seen} in 4 of 5 studies"
    )


def few_tasks_warning(count: int, tasks: str, here: str = "low_here and high_here") -> str | None:
    """That an interval over so many of what are called `tasks` covers less; None of enough.

    here: what the intervals for these tasks alone are called.
    """
    if count >= FEW_TASKS:
        return None
    return (
        f"an interval over {count} {tasks} covers less than 95 %; {here} are for these {tasks} "
        "alone"
    )
