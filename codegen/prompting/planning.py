"""What a planner has named, what a critic is shown, and the tools to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.prompting.budget import Part, Section
from codegen.prompting.untrusted import fence, inline, shortened
from codegen.prompting.variant import shown_source
from mcts.domain import Candidate, Dialect, Guidance
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


def tools_section(request: ProposalRequest, tools: Mapping[str, str]) -> Section:
    """Where the variant stands under the roofline, and the tools that may look at its profile."""
    stands = Guidance(roofline=request.guidance.roofline).render()
    return Section(
        title="Tools that can look at the profile",
        lead=f"{stands}\n\nEach tool reads the counters, the machine code or the timeline for one "
        "thing:",
        parts=tuple(Part(f"- `{name}`: {inline(what)}") for name, what in tools.items()),
    )


def proposal_section(proposed: Candidate, dialect: Dialect) -> Section:
    """A proposal that was not judged yet, with what it is meant to do."""
    parts = [Part(fence(shown_source(proposed, dialect), dialect.language))]
    if meant := ": ".join(filter(None, [proposed.name, proposed.rationale])):
        parts.append(
            Part(f"What it is meant to do:\n\n{fence(shortened(meant, longest=_LONGEST))}")
        )
    return Section(title="The proposal", parts=tuple(parts), joint="\n\n")
