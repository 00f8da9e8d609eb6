"""A proposer: change one tunable, drawn at random, to a value drawn at random."""

from __future__ import annotations

import random

from mcts.domain import Candidate, declared_space
from mcts.errors import NoMoves
from mcts.ports import Proposal, ProposalRequest, Proposer
from mcts.requests import ProposerRequest


class OneStepProposer(Proposer):
    """Untried neighbours of the parent that differ from it in one tunable, each as likely."""

    name = "one_step"
    inline = True

    def propose(self, request: ProposalRequest) -> Proposal:
        """Raises NoMoves when every neighbour was tried."""
        space = declared_space(request.task, request.parent.source)
        steps = [
            Candidate(
                source=request.parent.source,
                tunables={**request.parent.tunables, name: value},
                methods=tunable.methods,
                rationale=f"{name} {request.parent.tunables[name]} -> {value}",
            )
            for name, tunable in space.tunables.items()
            for value in tunable.values
            if value != request.parent.tunables[name]
        ]
        fresh = [
            step
            for step in steps
            if step.id not in request.tried and request.task.allows(space, step.tunables)
        ]
        if not fresh:
            raise NoMoves("every neighbour was tried")
        return Proposal(candidate=random.Random(request.seed).choice(fresh), prior=0.5)


def one_step_proposer(request: ProposerRequest) -> OneStepProposer:
    """As the entry-point group names it."""
    return OneStepProposer()
