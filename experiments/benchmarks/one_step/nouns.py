"""What comparing the arms of a one-step study finds."""

from __future__ import annotations

from typing import Literal

from mcts.domain import Noun

Measure = Literal["kept gain", "gain", "failures"]


class StepContest(Noun):
    """The reference against one arm by one measure.

    measure: `kept gain` is what a search gains that keeps the better of parent and child, 1 where
    the reply failed; `gain` is the child's speed over its parent's, where both children are right;
    `failures` are replies without a right child.
    ratio: geometric mean over problems of that over their pairs, above 1 if the reference is
    better; for failures the reference's share less the arm's, below 0 if the reference is better.
    low, high: 95 % interval over problems and pairs; low_here, high_here: over pairs alone.
    p: exact two-sided signed-rank over all pairs; for failures the exact binomial test of the pairs
    in which one of the two failed (McNemar 1947). p_holm: after Holm over the whole family.
    p_tasks: over the problems' means.
    detectable: the ratio that this study would find 4 times in 5; None if it finds none.
    """

    arm: str
    measure: Measure
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


class ArmFigures(Noun):
    """What one arm came to. Gains are geometric means over problems of those over their steps, with
    95 % intervals over problems and steps.

    improved: share of steps whose child is faster than its parent beyond the study's noise.
    """

    arm: str
    steps: int
    right: int
    failed: int
    rejected: int
    same: int
    improved: float
    kept_gain: tuple[float, float, float]
    gain: tuple[float, float, float] | None
    best: float
    prompt_tokens: float | None
    completion_tokens: float | None
    cost_usd: float | None


class StepComparison(Noun):
    """All that `compare` finds. `warnings` say what the study cannot say."""

    study: str
    question: str
    reference: str
    alpha: float
    parents: int
    problems: int
    arms: tuple[ArmFigures, ...]
    contests: tuple[StepContest, ...]
    warnings: tuple[str, ...]
