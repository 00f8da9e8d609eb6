"""Text of others made fit to print: kernel names, source lines and tools' words are untrusted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_TAB = 4
_HIDDEN = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """One line without anything that moves a cursor, hides or reorders text."""
    spaced = " ".join(text.expandtabs(_TAB).split("\n"))
    return "".join(
        char if char.isprintable() else " " if char.isspace() else _HIDDEN for char in spaced
    )


def cut(text: str, most: int) -> str:
    """`text` in at most `most` characters, the end marked where it was cut."""
    return text if len(text) <= most else text[: max(0, most - 3)] + "..."


def counted(count: int, what: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def did_you_mean(
    given: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6, behind: str = ""
) -> str:
    """``did you mean gelu?`` and what is to follow it; empty where nothing known is alike.

    cutoff: how alike, in [0, 1], as `difflib.get_close_matches` takes it.
    """
    close = difflib.get_close_matches(given, list(known), n=most, cutoff=cutoff)
    return f"did you mean {' or '.join(close)}?{behind}" if close else ""
