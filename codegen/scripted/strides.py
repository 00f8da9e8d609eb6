"""How far a proposal goes from its parent: about one step, several tunables at once, or elsewhere.

What the tools say decides it too: where they advise nothing and little was measured, looking around
is worth more than the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.scripted.lattice import Lattice
from mcts.ports import ProposalRequest

STEP_REACH = 1.0
"""A value d positions away weighs d ** -STEP_REACH: near ones first, yet without a scale, so that a
tunable of thirty values is crossed about as soon as one of four."""
FAR_REACH = 0.3
"""STEP_REACH of a far proposal."""
FAR_ODDS = 2.0
"""In a far proposal: the odds that a tunable of average weight changes."""
DIVERSE_ODDS = 0.5
"""FAR_ODDS of a move that is to be structurally different; there, what the run's times say counts
as if nothing advised: what the tools said has led no further."""
HINDSIGHT = 1.5
"""Exponent on what a value brings by this run's times, in standard deviations of log speedup."""
ADVISED_HINDSIGHT = 0.7
"""The same where the tools advise."""
LOOKS = 1.0
"""Without any advice, so many proposals for each halving of the space are far ones, wherever they
start: 9 in a space of 500 configurations, 14 in one of 16,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stride:
    """How a proposal weighs distance against what is known of the values.

    far: several changes at once, not one step. reach: how weights of values fall with distance, as
    STEP_REACH. odds: that a tunable of average weight changes. hindsight: as HINDSIGHT.
    """

    far: bool
    reach: float
    odds: float
    hindsight: float


def stride_of(request: ProposalRequest, lattice: Lattice) -> Stride:
    """The stride that the request's move asks for."""
    elsewhere = request.move.kind == "diversify"
    far = request.move.far or elsewhere or _blind(request, lattice)
    return Stride(
        far=far,
        reach=FAR_REACH if far else STEP_REACH,
        odds=DIVERSE_ODDS if elsewhere else FAR_ODDS if far else 1.0 / len(lattice.names),
        hindsight=ADVISED_HINDSIGHT if _advised(request) and not elsewhere else HINDSIGHT,
    )


def _advised(request: ProposalRequest) -> bool:
    """Whether the tools say where to go: a finding, or what limits the parent."""
    roofline = request.guidance.roofline
    known = roofline is not None and roofline.bound != "unknown"
    return known or bool(request.guidance.findings)


def _blind(request: ProposalRequest, lattice: Lattice) -> bool:
    """Whether nothing is known yet that says where to go: no advice, and too few times."""
    if _advised(request) or request.move.kind == "repair":
        return False
    return 0 < len(request.history) <= LOOKS * lattice.halvings
