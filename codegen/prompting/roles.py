"""Which role a request asks for; each is a template with a version."""

from __future__ import annotations

from typing import Literal

from mcts.domain import PYTORCH_DIALECTS, is_host_source
from mcts.ports import ProposalRequest

Role = Literal["implement", "optimize", "repair", "diversify", "remove"]
Form = Literal["cuda", "kernelbench", "host", "values"]

VERSIONS: dict[Role, int] = {
    "implement": 1,
    "optimize": 2,
    "repair": 1,
    "diversify": 1,
    "remove": 1,
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
    problem_alone = (
        request.parent.id == request.task.baseline.id
        and request.task.dialect in PYTORCH_DIALECTS
        and not is_host_source(request.parent.source)
    )
    return "implement" if problem_alone else "optimize"


def template_name(role: Role, form: Form) -> str:
    """The file that holds the role's order."""
    own = form == "values" or (form == "host" and role == "implement")
    return f"{role}_{form}.md" if own else f"{role}.md"


def prompt_id(role: Role, form: Form) -> str:
    """How a prompt is journalled: the template's name and the role's version."""
    return f"{template_name(role, form).removesuffix('.md')}/{VERSIONS[role]}"
