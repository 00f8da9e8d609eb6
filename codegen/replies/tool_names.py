"""The tools that a model wants run."""

from __future__ import annotations

import re
from collections.abc import Collection

from codegen.replies.text import without_thoughts

MAX_TOOLS = 6
_WORD = re.compile(r"\w+")


def tool_names_of(reply: str, known: Collection[str]) -> tuple[str, ...]:
    """The tools that a reply names, in its order; none if it names none that there is."""
    words = _WORD.findall(without_thoughts(reply))
    return tuple(dict.fromkeys(word for word in words if word in known))[:MAX_TOOLS]
