"""What every reply with a whole file has in common."""

from __future__ import annotations

from codegen.replies.patches import is_diff
from codegen.replies.text import ReplyText
from mcts.domain import find_plan_comment
from mcts.errors import ProposalRejected

MAX_SOURCE_BYTES = 256 * 1024


def texts_of(reply: ReplyText) -> list[str]:
    """The blocks that are no diffs; the whole reply if it has no blocks."""
    blocks = [block.text for block in reply.blocks if not is_diff(block.text, block.language)]
    return blocks if reply.blocks else [reply.whole]


def check_size(source: str) -> None:
    """Raise ProposalRejected for a file that is too large to keep."""
    if len(source.encode()) > MAX_SOURCE_BYTES:
        raise ProposalRejected(f"the code is larger than {MAX_SOURCE_BYTES // 1024} KB")


def from_plan(text: str) -> str:
    """A file from its plan on: cut what stands before the plan when it is talk and not code."""
    found = find_plan_comment(text)
    before = text[: found.start()] if found else ""
    code = any(mark in before for mark in ("#", "__global__", "//", "/*", "template", "extern"))
    return text if code or found is None else text[found.start() :]
