"""What comparing the arms of a study of searches finds."""

from __future__ import annotations

from mcts.domain import Noun


class ModelContest(Noun):
    """The reference against one arm by one measure.

    measure: `final` is what a user ends with, the winner's speedup as it was measured again, 1
    without a winner; `over torch.compile` the same over that; a number the best so far after so
    many trials, as the search measured it; `near` how many candidates were evaluated until one came
    near the best recorded, where a run that never did counts as one more than the shorter of both
    runs has trials.
    ratio: geometric mean over tasks of that over seeds, above 1 if the reference is better. low,
    high: 95 % interval over tasks and seeds; low_here, high_here: over seeds alone.
    p: exact two-sided signed-rank over all pairs; p_holm: after Holm over the whole family;
    p_tasks: over the tasks' means, of which smallest_p_tasks is the least it could have been.
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
    p_tasks: float
    smallest_p_tasks: float
    wins: int
    ties: int
    losses: int
    pairs: int
    detectable: float | None


class ArmFigures(Noun):
    """What one arm came to. Means are geometric, over tasks of those over seeds, with 95 %
    intervals over tasks and seeds; right: runs with a right variant, a faster one or not; fast: by
    threshold the share of runs that are right and so many times as fast as the baseline
    (KernelBench's fast_p). near: how many runs came near the best recorded, and the median number
    of evaluations that took, None unless more than half did; None where the study does not ask.
    """

    arm: str
    runs: int
    right: int
    final: tuple[float, float, float]
    compiled: tuple[float, float, float] | None
    compiled_runs: int
    fast: dict[float, float]
    at: dict[int, float]
    near: tuple[int, float | None] | None = None
    trials: int
    failed: int
    unusable: int
    unrecorded: int = 0
    replies: int
    tokens: int | None
    cost_usd: float | None


class Outcome(Noun):
    """One arm on one task: geometric means over seeds. near: by seed."""

    task: str
    arm: str
    runs: int
    final: float
    interval: tuple[float, float] | None
    compiled: float | None
    at: dict[int, float]
    near: tuple[int | None, ...] = ()
    failed: int
    stopped: tuple[str, ...]


class ModelComparison(Noun):
    """All that `compare` finds. trials: of each run, where its arm does not say another number.
    near: the share by which a variant may be slower than the best recorded. by_level: the arms on
    the tasks of each level, where all are problems of KernelBench of several levels. `warnings` say
    what the study cannot say.
    """

    study: str
    question: str
    reference: str
    alpha: float
    trials: int
    near: float | None = None
    arms: tuple[ArmFigures, ...]
    by_level: dict[int, tuple[ArmFigures, ...]] = {}
    contests: tuple[ModelContest, ...]
    outcomes: tuple[Outcome, ...]
    warnings: tuple[str, ...]
