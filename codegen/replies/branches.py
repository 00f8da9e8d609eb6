"""The optional list of other tunable values that a reply would like to see timed too."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from codegen.replies.text import ReplyText
from mcts.domain import Scalar

_HEADING = re.compile(r"^[#*\s\d.]{0,20}branches\b", re.IGNORECASE | re.MULTILINE)
_MAX_LISTED = 64
_MAX_STARTS = 8


def declared_branches(reply: ReplyText) -> tuple[dict[str, Scalar], ...]:
    """The objects of the JSON list behind the last heading `Branches`; what cannot be read is left
    out, for a candidate is no worse for a bad list beside it.
    """
    listed = reply.fields.get("branches")
    if listed is None:
        headings = list(_HEADING.finditer(reply.whole))
        listed = _first_list(reply.whole[headings[-1].end() :]) if headings else []
    if not isinstance(listed, list):
        return ()
    kept = [_scalars(entry) for entry in listed[:_MAX_LISTED]]
    return tuple(entry for entry in kept if entry)


def _first_list(text: str) -> Any:
    for start in list(re.finditer(r"\[", text))[:_MAX_STARTS]:
        try:
            return json.JSONDecoder().raw_decode(text, start.start())[0]
        except (ValueError, RecursionError):
            continue
    return []


def _scalars(entry: object) -> dict[str, Scalar]:
    """An object of single values, or nothing."""
    if not isinstance(entry, dict):
        return {}
    values = {
        str(name): value
        for name, value in entry.items()
        if isinstance(value, int | float | str | bool)
        and not (isinstance(value, float) and not math.isfinite(value))
    }
    return values if len(values) == len(entry) else {}
