"""Which role a request asks for; each is a template with a version."""

from __future__ import annotations

from typing import Literal

from mcts.ports import ProposalRequest

Role = Literal["implement", "optimize", "repair", "diversify", "remove"]
Beside = Literal["plan", "review", "choose"]
"""Who works on a proposal beside the one who writes it."""

VERSIONS: dict[Role | Beside, int] = {
    "implement": 3,
    "optimize": 4,
    "repair": 3,
    "diversify": 3,
    "remove": 3,
    "plan": 1,
    "review": 1,
    "choose": 1,
}
"""Raised whenever anything that a role's prompt says of its own accord changes, so that results
journalled under one version were all asked for in the same words."""


def role_of(request: ProposalRequest, *, without: str | None = None) -> Role:
    """The role of a request: a first implementation where only the problem itself is there, and
    `without` a method where that is to be taken out.
    """
    if without is not None:
        return "remove"
    if request.move.kind == "repair":
        return "repair"
    if request.move.kind == "diversify":
        return "diversify"
    parent = request.parent
    problem_alone = (
        parent.id == request.task.baseline.id
        and request.task.dialect_of(parent.source).baseline_is_reference
    )
    return "implement" if problem_alone else "optimize"
