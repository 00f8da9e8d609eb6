"""A second opinion, as a model replies it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import get_args

from codegen.replies.text import without_thoughts
from mcts.domain import CheatClass

_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_LONGEST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """Whether a candidate is honest, which rule it breaks if not, and why. `breaks` is None for an
    honest one, and where a reply names no rule that there is.
    """

    honest: bool
    breaks: CheatClass | None = None
    why: str = ""


def opinion_of(reply: str) -> Opinion | None:
    """The opinion in a reply; None if it holds none."""
    for body in reversed(_OBJECT.findall(without_thoughts(reply))):
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(honest := found.get("honest"), bool):
            breaks = found.get("breaks")
            known = breaks if breaks in get_args(CheatClass) else None
            return Opinion(
                honest=honest,
                breaks=None if honest else known,
                why=" ".join(str(found.get("why") or "").split())[:_LONGEST],
            )
    return None
