"""What a planner has named, and what a critic is shown."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.prompting.budget import Part, Section
from codegen.prompting.untrusted import fence, shortened
from codegen.prompting.variant import shown_source
from mcts.domain import Candidate, Dialect
from mcts.ports import ProposalRequest

_LONGEST = 800


def directions_section(request: ProposalRequest, directions: Sequence[str]) -> Section:
    """The directions, and which of them this reply is to take."""
    listed = "\n".join(f"{at}. {text}" for at, text in enumerate(directions, start=1))
    return Section(
        title="The plan",
        lead="A planner has looked at the same facts and named these directions, best first:",
        parts=(
            Part(
                f"{fence(listed)}\n\n{_chosen(request.choice, len(directions))}",
                "plan",
            ),
        ),
    )


def _chosen(choice: int, count: int) -> str:
    if choice > count:
        return "Others are writing all of these: find a direction of your own."
    return (
        f"Take number {choice}. If the facts above speak against it, say so in a sentence and take "
        "another; the ceilings are guesses."
    )


def proposal_section(proposed: Candidate, dialect: Dialect) -> Section:
    """A proposal that was not judged yet, with what it is meant to do."""
    parts = [Part(fence(shown_source(proposed, dialect), dialect.language))]
    if meant := ": ".join(filter(None, [proposed.name, proposed.rationale])):
        parts.append(
            Part(f"What it is meant to do:\n\n{fence(shortened(meant, longest=_LONGEST))}")
        )
    return Section(title="The proposal", parts=tuple(parts), joint="\n\n")
