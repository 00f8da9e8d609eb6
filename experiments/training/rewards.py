"""What a verdict is worth to a trainer; each reward is a plain function of an `Evaluation`.

A candidate that was not measured has the lowest reward of its scale, whatever figures it came
with: it failed, it was refused, or its times cannot be believed. `why` names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev

from mcts.domain import Evaluation

FASTER_BY = 0.05
"""Share of a baseline's time that must be saved to count as faster (CUDA Agent, eq. 1)."""
LOWEST = -1.0
"""The reward of whatever was not measured, in every scale but the group's."""
CLIPPED_AT = 1.5
"""Standard deviations beyond which a group's reward does not go (CUDA-L1)."""
LOG_CEILING = 64.0
"""The speedup at which the log reward is 1: beyond it the reward grows no more."""

Reward = Callable[[Evaluation], float]


def why(evaluation: Evaluation) -> str:
    """`measured`, how it failed, or with which cheat: ``refused: side_stream``."""
    if evaluation.refusal is not None:
        return f"{evaluation.status}: {evaluation.refusal.cheat}"
    return evaluation.status


def levels(evaluation: Evaluation, over_compile: Evaluation | None = None) -> float:
    """-1 if wrong, 1 if right, 2 if faster than eager PyTorch, 3 than torch.compile besides.

    CUDA Agent's eq. 1: faster by more than 5 % of the baseline's time. `over_compile` is the same
    candidate measured over torch.compile; without it there is no 3.
    """
    if evaluation.speedup is None:
        return LOWEST
    if evaluation.held_back or not _is_faster(evaluation):
        return 1.0
    return 3.0 if over_compile is not None and _is_faster(over_compile) else 2.0


def log_speedup(evaluation: Evaluation) -> float:
    """The log of the speedup, 1 at 64 times the baseline's speed and no more beyond.

    After KernelPro, whose log keeps outliers from deciding. From -1: a candidate that is slower
    loses no more than one that is wrong.
    """
    if evaluation.speedup is None:
        return LOWEST
    return _kept(evaluation, _log_share(evaluation.speedup))


def lower_bound(evaluation: Evaluation) -> float:
    """`log_speedup` of the lower end of the speedup's 95 % interval: noise earns nothing.

    An interval that holds 1 is worth 0, as no difference was shown.
    """
    timing = evaluation.timing
    if evaluation.speedup is None or timing is None:
        return LOWEST
    if timing.speedup_low <= 1 <= timing.speedup_high:
        return 0.0
    return _kept(evaluation, _log_share(timing.speedup_low))


def smoothed(group: Sequence[Evaluation], *, at: float = CLIPPED_AT) -> list[float]:
    """CUDA-L1's smoothed reward of each of a group: how many standard deviations its speedup is
    from the group's mean, clipped to [-at, at].

    What was not measured has a speedup of 0 and the least reward, -at, even in a group that failed
    as a whole; where all speedups of a group are the same, they are worth 0.
    """
    speedups = [evaluation.speedup or 0.0 for evaluation in group]
    if not speedups:
        return []
    mean, spread = fmean(speedups), pstdev(speedups)
    return [
        -at
        if evaluation.speedup is None
        else 0.0
        if spread == 0
        else max(-at, min(at, (speedup - mean) / spread))
        for evaluation, speedup in zip(group, speedups, strict=True)
    ]


REWARDS: Mapping[str, Reward] = {
    "levels": levels,
    "log_speedup": log_speedup,
    "lower_bound": lower_bound,
}
"""The rewards of one evaluation, by name."""


def _kept(evaluation: Evaluation, reward: float) -> float:
    """The reward; nothing at most where the candidate may not be handed back."""
    return min(0.0, reward) if evaluation.held_back else reward


def _is_faster(evaluation: Evaluation) -> bool:
    return evaluation.speedup is not None and 1 - 1 / evaluation.speedup > FASTER_BY


def _log_share(speedup: float) -> float:
    return max(LOWEST, min(1.0, math.log(speedup) / math.log(LOG_CEILING)))
