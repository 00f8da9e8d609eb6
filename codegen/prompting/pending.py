"""Trials in flight beside this one: they see what it sees, so that it is told to differ."""

from __future__ import annotations

from codegen.prompting.budget import Part, Section
from codegen.prompting.history import method_id
from codegen.prompting.roles import Role
from mcts.domain import Candidate
from mcts.ports import PendingTrial, ProposalRequest

PENDING = "+pending/1"
"""What the id of a prompt with this section ends with; raise the number with its words."""
MAX_ELSEWHERE = 4
MAX_METHODS = 3

_IDEAS: dict[Role, str] = {
    "implement": "designs",
    "optimize": "directions",
    "repair": "repairs",
    "diversify": "approaches",
    "remove": "ways",
}


def pending_section(request: ProposalRequest, role: Role, *, planned: bool = False) -> Section:
    """What others are writing at this moment, and which idea that leaves to this reply.

    Where it is `planned`, the plan says which.
    """
    same = [other for other in request.pending if other.parent.id == request.parent.id]
    elsewhere = [other for other in request.pending if other.parent.id != request.parent.id]
    parts = []
    if same and planned:
        parts.append(Part(f"- From the variant you are shown: {len(same)}, by other directions."))
    elif same:
        parts.append(Part(_share(same, request.choice, _IDEAS[role])))
    parts += [Part(_elsewhere(other, request)) for other in elsewhere[-MAX_ELSEWHERE:]]
    return Section(
        title="What is being written at the same time",
        lead="Others are asked while you are. They know what you know, and none sees another's "
        "reply; the same variant written twice is wasted.",
        parts=tuple(parts),
    )


def _share(same: list[PendingTrial], choice: int, ideas: str) -> str:
    taken = ", ".join(str(other.choice) for other in sorted(same, key=lambda other: other.choice))
    return (
        f"- From the variant you are shown: {len(same)}. Rank the {ideas} that you see, best "
        f"first: number {taken} of such a ranking is taken; yours is number {choice}. "
        "Write that one."
    )


def _elsewhere(other: PendingTrial, request: ProposalRequest) -> str:
    if other.parent.id == request.task.baseline.id:
        where = "the baseline"
    else:
        where = f"another variant ({_methods(other.parent)})"
    return f"- {_MOVES[other.move.kind]} {where}."


_MOVES = {"improve": "An improvement of", "repair": "A repair of", "diversify": "Another way than"}


def _methods(candidate: Candidate) -> str:
    named = [method_id(method) for method in candidate.methods[:MAX_METHODS]]
    return ", ".join(named) or "no method named"
