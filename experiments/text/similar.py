"""What a mistyped name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(
    given: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6, behind: str = ""
) -> str:
    """``did you mean gelu?`` and what is to follow it; empty where nothing known is alike.

    cutoff: how alike, in [0, 1], as `difflib.get_close_matches` takes it.
    """
    close = difflib.get_close_matches(given, list(known), n=most, cutoff=cutoff)
    return f"did you mean {' or '.join(close)}?{behind}" if close else ""
