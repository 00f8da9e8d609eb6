"""What comparing the arms of a study of searches finds."""

from __future__ import annotations

from experiments.benchmarks.studies.contests import PairedContest
from mcts.domain import Noun


class ModelContest(PairedContest):
    """The reference against one arm by one measure; a pair shares its task and its seed.

    measure: `final` is what a user ends with, the winner's speedup as it was measured again, 1
    without a winner; `over torch.compile` the same over that; a number the best so far after so
    many trials, as the search measured it; `near` how many candidates were evaluated until one came
    near the best recorded, where a run that never did counts as one more than the shorter of both
    runs has trials. smallest_p_tasks: the least that p_tasks could have been.
    """

    p_tasks: float
    smallest_p_tasks: float


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
