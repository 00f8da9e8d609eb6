"""Changes against the variant that was shown: SEARCH/REPLACE blocks and unified diffs.

Applied strictly: what a change refers to must stand in the file exactly once, but for space at the
ends of lines. A patch that fits nowhere is no guess at what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.replies.text import ReplyText
from mcts.errors import ProposalRejected

_SEARCH = re.compile(r"^[ \t]*<{5,9}[ \t]*SEARCH\b[^\n]*$")
_MIDDLE = re.compile(r"^[ \t]*={5,9}[ \t]*$")
_REPLACE = re.compile(r"^[ \t]*>{5,9}[ \t]*REPLACE\b[^\n]*$")
_HUNK = re.compile(r"^@@(?: -(\d{1,7})(?:,\d{1,7})? \+\d{1,7}(?:,\d{1,7})? @@| .*@@|$|@@|\s)")
_MAX_EDITS = 200
_MOST_PLACES = 100
"""Places where a change fits that are counted: to count more takes quadratic time."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines that stand in the file, and what takes their place; `line` is where, if it is said."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    line: int | None = None


def is_diff(text: str, language: str = "") -> bool:
    """Whether a block is a unified diff."""
    if language in ("diff", "patch", "udiff"):
        return True
    if "@@" not in text:
        return False
    lines = text.split("\n")
    return any(_HUNK.match(line) for line in lines) and any(line[:1] in "+-" for line in lines)


def has_patch(reply: ReplyText) -> bool:
    """Whether a reply changes the variant that was shown rather than giving a file."""
    found = any(is_diff(block.text, block.language) for block in reply.blocks)
    if found or "SEARCH" not in reply.whole:
        return found
    return any(_SEARCH.match(line) for line in reply.whole.split("\n"))


def patched(reply: ReplyText, source: str) -> str:
    """`source` with the reply's changes. ProposalRejected where one does not fit."""
    edits = _search_replace(reply.whole) or [
        edit
        for block in reply.blocks
        if is_diff(block.text, block.language)
        for edit in _unified(block.text)
    ]
    if not edits:
        raise ProposalRejected("the reply's diff holds no change that can be read")
    if len(edits) > _MAX_EDITS:
        raise ProposalRejected(f"the reply's diff holds more than {_MAX_EDITS} changes")
    lines = _lines(source)
    stripped = [line.rstrip() for line in lines]
    for number, edit in enumerate(edits, start=1):
        at = _place(stripped, edit, number)
        lines[at : at + len(edit.before)] = edit.after
        stripped[at : at + len(edit.before)] = [line.rstrip() for line in edit.after]
    return "\n".join(lines) + "\n"


def _lines(text: str) -> list[str]:
    """Lines as a compiler counts them: what else Unicode ends a line with may stand in a string."""
    return text.removesuffix("\n").split("\n")


def _search_replace(text: str) -> list[Edit]:
    edits: list[Edit] = []
    before: list[str] = []
    after: list[str] = []
    part = ""
    for line in _lines(text):
        if _SEARCH.match(line):
            before, after, part = [], [], "before"
        elif part == "before" and _MIDDLE.match(line):
            part = "after"
        elif part == "after" and _REPLACE.match(line):
            edits.append(Edit(tuple(before), tuple(after)))
            part = ""
        elif part:
            (before if part == "before" else after).append(line)
    if part:
        raise ProposalRejected("a SEARCH/REPLACE block of the reply is not closed")
    return edits


def _unified(text: str) -> list[Edit]:
    """The hunks of a diff; of a line without a mark it is said that it is context."""
    edits: list[Edit] = []
    before: list[str] | None = None
    after: list[str] = []
    start: int | None = None

    def close() -> None:
        if before is not None and before != after:
            edits.append(Edit(tuple(before), tuple(after), start))

    for line in _lines(text):
        if found := _HUNK.match(line):
            close()
            start = int(found[1]) if found[1] else None
            before, after = [], []
        elif before is None or line.startswith("\\"):
            continue
        elif line.startswith("-"):
            before.append(line[1:])
        elif line.startswith("+"):
            after.append(line[1:])
        else:
            before.append(line[1:])
            after.append(line[1:])
    close()
    return edits


def _place(stripped: Sequence[str], edit: Edit, number: int) -> int:
    """Where `edit` applies; the line it names decides between equals."""
    wanted = [line.rstrip() for line in edit.before]
    if not any(wanted):
        raise ProposalRejected(f"change {number} of the reply names no line that it replaces")
    named = None if edit.line is None else edit.line - 1
    if named is not None and named >= 0 and stripped[named : named + len(wanted)] == wanted:
        return named
    places = _places(stripped, wanted)
    if len(places) == 1:
        return places[0]
    shown = next(line for line in wanted if line).strip()[:80]
    if not places:
        raise ProposalRejected(
            f"change {number} of the reply does not fit: its lines from {shown!r} on do not stand "
            "in the variant; give the complete file"
        )
    how_many = f"more than {_MOST_PLACES}" if len(places) > _MOST_PLACES else f"{len(places)}"
    raise ProposalRejected(
        f"change {number} of the reply fits in {how_many} places (from {shown!r} on); give more "
        "lines around it, or the complete file"
    )


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The first places at which `wanted` stands in `lines`, one more than are counted."""
    text, sought = "\n".join(["", *lines, ""]), "\n".join(["", *wanted, ""])
    found: list[int] = []
    line = at = 0
    while len(found) <= _MOST_PLACES and (place := text.find(sought, at)) >= 0:
        line += text.count("\n", at, place)
        found.append(line)
        line, at = line + 1, place + 1
    return found
