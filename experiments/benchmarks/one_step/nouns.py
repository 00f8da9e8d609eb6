"""What comparing the arms of a one-step study finds."""

from __future__ import annotations

from typing import Literal

from experiments.benchmarks.studies.contests import PairedContest
from mcts.domain import Noun

Measure = Literal["kept gain", "gain", "failures"]


class StepContest(PairedContest):
    """The reference against one arm by one measure; a pair shares its parent and its reply, and a
    task is a problem.

    measure: `kept gain` is what a search gains that keeps the better of parent and child, 1 where
    the reply failed; `gain` is the child's speed over its parent's, where both children are right;
    `failures` are replies without a right child. Of failures the ratio is the reference's share
    less the arm's, below 0 if the reference is better, p the exact binomial test of the pairs in
    which one of the two failed (McNemar 1947), and p_tasks None.
    """

    measure: Measure


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
