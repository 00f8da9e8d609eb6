"""The directions that a planner names."""

from __future__ import annotations

import re

from codegen.prompting.untrusted import shortened
from codegen.replies.text import without_thoughts

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
