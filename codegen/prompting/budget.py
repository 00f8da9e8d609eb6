"""Sections of a prompt, and how they are made to fit a budget of tokens.

What is worth least goes first, in the order of `WORTH`; task, variant, result and order never go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil

from codegen.prompting.untrusted import fence

CHARACTERS_PER_TOKEN = 3.5
"""English and code take 3.2 to 4 characters a token with the tokenizers in use; 3.5 errs towards
too many tokens. Characters beyond ASCII count as a token each."""

WORTH = (
    "method",
    "exemplar",
    "earlier attempt",
    "lesson",
    "hardware limit",
    "rationale",
    "steps",
    "plan",
)
"""Kinds of parts that may be left out, least valuable first. A model knows most methods without
being told; exemplars are long; attempts and lessons keep it from repeating what failed."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a section that is kept or left out as a whole; with no `kind` it is always kept.

    Of one kind, parts of a greater `rank` go first.
    """

    text: str
    kind: str = ""
    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading, a lead that stands only with a part behind it, and the parts.

    If `fenced`, all parts stand in one fence. `text` is empty if no part is left.
    """

    title: str
    parts: tuple[Part, ...]
    lead: str = ""
    joint: str = "\n"
    fenced: bool = False

    @cached_property
    def text(self) -> str:
        if not self.parts:
            return ""
        body = self.joint.join(part.text for part in self.parts)
        lead = f"{self.lead}\n\n" if self.lead else ""
        return f"# {self.title}\n\n{lead}{fence(body) if self.fenced else body}"

    @cached_property
    def tokens(self) -> int:
        """By estimate."""
        return estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The sections that fit, how many parts of each kind do not, and the estimate of tokens."""

    sections: tuple[Section, ...]
    dropped: dict[str, int]
    tokens: int


def estimate_tokens(text: str) -> int:
    """How many tokens a text takes, by its length alone."""
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return ceil(plain / CHARACTERS_PER_TOKEN) + len(text) - plain


def fit(sections: Sequence[Section], *, budget: int) -> Fitted:
    """Leave out parts, least valuable first, until `budget` tokens are enough.

    Where even what must stay takes more, everything else is left out; `tokens` tells.
    """
    kept = list(sections)
    tokens = sum(section.tokens for section in kept)
    if tokens <= budget:
        return Fitted(tuple(kept), {}, tokens)
    order = sorted(
        (
            (WORTH.index(part.kind), -part.rank, -place, at)
            for at, section in enumerate(sections)
            for place, part in enumerate(section.parts)
            if part.kind
        ),
    )
    dropped: Counter[str] = Counter()
    gone: dict[int, set[int]] = {}
    for _, _, place, at in order:
        if tokens <= budget:
            break
        gone.setdefault(at, set()).add(-place)
        section = sections[at]
        tokens -= kept[at].tokens
        left = tuple(p for index, p in enumerate(section.parts) if index not in gone[at])
        kept[at] = replace(section, parts=left)
        tokens += kept[at].tokens
        dropped[section.parts[-place].kind] += 1
    return Fitted(tuple(kept), dict(dropped), tokens)


def left_out(dropped: dict[str, int]) -> str:
    """One line on what was left out; empty if nothing was."""
    if not dropped:
        return ""
    counted = ", ".join(f"{n} {kind}{'s' if n > 1 else ''}" for kind, n in dropped.items())
    return f"Left out for want of room: {counted}."
