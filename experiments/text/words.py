"""Words fit to print: names and lines that others wrote, counts, and what a mistyped name meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from mcts.text import replace_unseen

_TAB = 4
_HIDDEN = "\N{REPLACEMENT CHARACTER}"
_ODD = frozenset({"Cn", "Zs"})


def clean(text: str) -> str:
    """One line without anything that moves a cursor, hides or reorders text."""
    spaced = " ".join(text.expandtabs(_TAB).split("\n"))
    return replace_unseen(spaced, lambda char: " " if char.isspace() else _HIDDEN, also=_ODD)


def counted(count: int, what: str) -> str:
    """``1 kernel``, ``2 kernels``; the plural is regular."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def did_you_mean(
    given: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6, behind: str = ""
) -> str:
    """``did you mean gelu?`` and what is to follow it; empty if nothing known is alike.

    cutoff: how alike, in [0, 1], as `difflib.get_close_matches` takes it.
    """
    close = difflib.get_close_matches(given, list(known), n=most, cutoff=cutoff)
    return f"did you mean {' or '.join(close)}?{behind}" if close else ""
