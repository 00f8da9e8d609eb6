"""How far a proposal goes from its parent: about one change, several at once, or elsewhere.

The tools' advice decides it too: if they advise nothing and little was measured, exploring is worth
more than the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.scripted.encoded_space import EncodedSpace
from mcts.ports import ProposalRequest

NEAR_DISTANCE_EXPONENT = 1.0
"""A value d positions away weighs d to the power of minus this: near ones first, yet without a
scale, so that a tunable of thirty values is crossed about as soon as one of four."""
FAR_DISTANCE_EXPONENT = 0.3
"""The same for a far proposal."""
FAR_CHANGE_ODDS = 2.0
"""In a far proposal: the odds that a tunable of average weight changes."""
DIVERSE_CHANGE_ODDS = 0.5
"""The same for a move that is to be structurally different. There the run's times count as if
nothing were advised: what the tools said has led no further."""
EFFECT_EXPONENT = 1.5
"""Exponent on the effect of a value by this run's times, in standard deviations of log speedup."""
ADVISED_EFFECT_EXPONENT = 0.7
"""The same if the tools advise something."""
UNADVISED_FAR_MOVES = 1.0
"""Without any advice, so many proposals for each bit of the space are far ones, wherever they
start: 9 in a space of 500 configurations, 14 in one of 16,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSize:
    """How a proposal weighs distance against what is known of the values.

    far: several changes at once, not one step. distance_exponent: how the weight of a value falls
    with its distance. change_odds: that a tunable of average weight changes. effect_exponent: how
    much the run's times count.
    """

    far: bool
    distance_exponent: float
    change_odds: float
    effect_exponent: float


def step_size_of(request: ProposalRequest, space: EncodedSpace) -> StepSize:
    """The step size that the request's move asks for."""
    diversify = request.move.kind == "diversify"
    far = request.move.far or diversify or _uninformed(request, space)
    change_odds = FAR_CHANGE_ODDS if far else 1.0 / len(space.names)
    advised = _advised(request) and not diversify
    return StepSize(
        far=far,
        distance_exponent=FAR_DISTANCE_EXPONENT if far else NEAR_DISTANCE_EXPONENT,
        change_odds=DIVERSE_CHANGE_ODDS if diversify else change_odds,
        effect_exponent=ADVISED_EFFECT_EXPONENT if advised else EFFECT_EXPONENT,
    )


def _advised(request: ProposalRequest) -> bool:
    """Whether the tools say where to go: a finding, or what limits the parent."""
    roofline = request.guidance.roofline
    known = roofline is not None and roofline.bound != "unknown"
    return known or bool(request.guidance.findings)


def _uninformed(request: ProposalRequest, space: EncodedSpace) -> bool:
    """Whether nothing says yet where to go: no advice, and too few measurements."""
    if _advised(request) or request.move.kind == "repair":
        return False
    return 0 < len(request.history) <= UNADVISED_FAR_MOVES * space.bits
