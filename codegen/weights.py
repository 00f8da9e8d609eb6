"""How much each tunable deserves to be moved next: advice, experience, and what failed.

Weights are factors around 1; with neither guidance nor lessons all tunables weigh the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from codegen.playbook import playbook
from mcts.domain import Axis, Guidance, Lesson, Tunable

FINDING_PULL = 3.0
"""A finding of strength 1 multiplies the weight of the tunables it points to by 1 + this."""
BUDGET_PULL = 0.5
"""Each method slot that the roofline gives to an axis adds this to that axis's tunables."""
LESSON_PULL = 3.0
"""Exponent on a method's mean gain; a failure counts as a gain of FAILURE_GAIN."""
FAILURE_GAIN = 0.7
OTHER_STATE = 0.3
"""What a lesson from another performance state counts, against 1 for the same state."""
LEAST, MOST = 0.2, 8.0
"""No tunable is ever ruled out, and none takes all."""


def tunable_weights(
    tunables: Mapping[str, Tunable], *, guidance: Guidance, lessons: Sequence[Lesson]
) -> dict[str, float]:
    """The weight of each tunable, in [LEAST, MOST].

    A tunable takes the best pull among its methods from the guidance, and their mean experience.
    """
    pull = _pulls(guidance)
    worth = method_worth(guidance, lessons)
    budget = guidance.roofline.method_budget if guidance.roofline else {}
    weights: dict[str, float] = {}
    for name, tunable in tunables.items():
        weight = 1.0
        if tunable.methods:
            weight += max(pull.get(method, 0.0) for method in tunable.methods)
            weight += BUDGET_PULL * max(_slots(method, budget) for method in tunable.methods)
            experience = sum(worth.get(method, 0.0) for method in tunable.methods)
            weight *= math.exp(LESSON_PULL * experience / len(tunable.methods))
        weights[name] = min(MOST, max(LEAST, weight))
    return weights


def method_worth(guidance: Guidance, lessons: Sequence[Lesson]) -> dict[str, float]:
    """The mean log gain of each method, drawn towards 0 while lessons are few."""
    roofline = guidance.roofline
    state = (roofline.bound, roofline.near_peak) if roofline else ("unknown", False)
    total: dict[str, float] = defaultdict(float)
    count: dict[str, float] = defaultdict(float)
    for lesson in lessons:
        same = (lesson.state.bound, lesson.state.near_peak) == state
        trust = 1.0 if same else OTHER_STATE
        gain = FAILURE_GAIN if lesson.gain is None else lesson.gain
        # One outlier must not drown the rest: a lesson says at most "twice" or "half".
        total[lesson.method] += trust * min(math.log(2), max(-math.log(2), math.log(gain)))
        count[lesson.method] += trust
    return {method: total[method] / (1.0 + count[method]) for method in total}


def _pulls(guidance: Guidance) -> dict[str, float]:
    """Per method, the pull of the strongest finding that points to it."""
    pull: dict[str, float] = {}
    for finding in guidance.findings:
        for method in finding.methods:
            pull[method] = max(pull.get(method, 0.0), FINDING_PULL * finding.strength)
    return pull


def _slots(method: str, budget: Mapping[Axis, int]) -> int:
    known = playbook().get(method)
    return budget.get(known.axis, 0) if known else 0
