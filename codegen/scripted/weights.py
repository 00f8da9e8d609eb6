"""How much each tunable deserves to be moved next: advice, experience, and what failed.

Weights are factors around 1; with neither guidance nor experience all tunables weigh the same.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from codegen.playbook import catalogue
from mcts.domain import Axis, Guidance, Lesson, StateSignature, Tunable
from mcts.knowledge.base import ANY, ELSEWHERE, Experience
from mcts.knowledge.belief import Belief, Sampling, sampled
from mcts.knowledge.evidence import observed_gain
from mcts.knowledge.moves import Act

FINDING_WEIGHT = 3.0
"""A finding of strength 1 multiplies the weight of the tunables it points to by 1 + this."""
SLOT_WEIGHT = 0.5
"""Each method slot that the roofline gives to an axis adds this to that axis's tunables."""
LESSON_EXPONENT = 3.0
"""Exponent on the gain that this run's lessons make one expect of a method."""
EXPERIENCE_EXPONENT = 6.0
"""The same once other runs' experience stands behind it."""
OTHER_STATE_TRUST = 0.3
"""What a lesson from another performance state counts, against 1 for one like this."""
MIN_WEIGHT, MAX_WEIGHT = 0.2, 8.0
"""No tunable is ever ruled out, and none takes all."""


class StepWeights(NamedTuple):
    """The weights of a tunable's steps: away from its default, which apply its methods, and towards
    it, which take them back."""

    applied: float
    undone: float


def tunable_weights(
    tunables: Mapping[str, Tunable],
    *,
    guidance: Guidance,
    state: StateSignature,
    lessons: Sequence[Lesson],
    experience: Sequence[Experience] = (),
    sampling: Sampling = "mean",
    seed: int = 0,
) -> dict[str, StepWeights]:
    """The weights of each tunable, in [MIN_WEIGHT, MAX_WEIGHT].

    Steps that apply a method take the greatest weight that the guidance gives to one of them. What
    the tunable's methods are expected to gain in this `state`, on average, counts both ways.
    """
    advised = _finding_weights(guidance)
    budget = guidance.roofline.method_budget if guidance.roofline else {}
    expected = expected_gains(
        state, lessons=lessons, experience=experience, sampling=sampling, seed=seed
    )

    strength = EXPERIENCE_EXPONENT if experience else LESSON_EXPONENT

    def learned(methods: tuple[str, ...], *, undone: bool) -> float:
        unknown = expected.get(Act(ANY, undone), 0.0)
        gains = [expected.get(Act(method, undone), unknown) for method in methods]
        return math.exp(strength * sum(gains) / len(gains))

    weights: dict[str, StepWeights] = {}
    for name, tunable in tunables.items():
        methods = tunable.methods
        if not methods:
            weights[name] = StepWeights(1.0, 1.0)
            continue
        advice = 1.0 + max(advised.get(method, 0.0) for method in methods)
        advice += SLOT_WEIGHT * max(_slots(method, budget) for method in methods)
        weights[name] = StepWeights(
            _clipped(advice * learned(methods, undone=False)),
            _clipped(learned(methods, undone=True)),
        )
    return weights


def expected_gains(
    state: StateSignature,
    *,
    lessons: Sequence[Lesson],
    experience: Sequence[Experience],
    sampling: Sampling = "mean",
    seed: int = 0,
) -> dict[Act, float]:
    """The log gain expected of each act: what other runs taught, corrected by this run's lessons.

    Without experience from other runs it is the mean of the lessons, drawn towards 0 while they are
    few. With it, it is `sampled` as `sampling` says. A method that never reached the machine code
    taught nothing.
    """
    known = {one.act: one.belief.weakened(ELSEWHERE) for one in experience}
    learned: dict[Act, list[tuple[float, float]]] = defaultdict(list)
    for lesson in lessons:
        if lesson.realised is False:
            continue
        trust = 1.0 if lesson.state.closeness(state) else OTHER_STATE_TRUST
        for undone in (False, True) if lesson.undone is None else (lesson.undone,):
            learned[Act(lesson.method, undone)].append((trust, observed_gain(lesson.gain)))
    beliefs = {
        act: _corrected(known.get(act) or known.get(Act(ANY, act.undone)) or Belief(), learned[act])
        for act in {*known, *learned}
    }
    rng = random.Random(seed)
    return sampled(beliefs, rng, how=sampling if known else "mean")


def _corrected(belief: Belief, observed: Sequence[tuple[float, float]]) -> Belief:
    """The belief after log gains, each with the trust it deserves."""
    count = sum(trust for trust, _ in observed)
    if not count:
        return belief
    mean = sum(trust * gain for trust, gain in observed) / count
    return belief.after(count, mean, sum(trust * (gain - mean) ** 2 for trust, gain in observed))


def _clipped(weight: float) -> float:
    return min(MAX_WEIGHT, max(MIN_WEIGHT, weight))


def _finding_weights(guidance: Guidance) -> dict[str, float]:
    """Per method, the weight of the strongest finding that points to it."""
    weights: dict[str, float] = {}
    for finding in guidance.findings:
        for method in finding.methods:
            weights[method] = max(weights.get(method, 0.0), FINDING_WEIGHT * finding.strength)
    return weights


def _slots(method: str, budget: Mapping[Axis, int]) -> int:
    known = catalogue().get(method)
    return budget.get(known.axis, 0) if known else 0
