"""What a planner has named, what a critic is shown, and how their replies are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codegen.prompting.budget import Part, Section
from codegen.prompting.untrusted import fence, shortened
from codegen.prompting.variant import shown_source
from codegen.replies import without_thoughts
from mcts.domain import Candidate, Dialect
from mcts.ports import ProposalRequest

MAX_DIRECTIONS = 3
_LONGEST = 800
_NUMBERED = re.compile(r"^[ \t>*#-]*(?:direction )?([1-9])[*.):]+[ \t*]+", re.M | re.IGNORECASE)


def directions_of(reply: str) -> tuple[str, ...]:
    """The directions in a planner's reply, best first; all of it where none are numbered."""
    text = without_thoughts(reply).strip()
    starts = list(_NUMBERED.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    pieces = [text[start.end() : end].strip() for start, end in zip(starts, ends, strict=False)]
    told = [piece for piece in pieces if piece] or ([text] if text else [])
    return tuple(shortened(each, longest=_LONGEST) for each in told[:MAX_DIRECTIONS])


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
