"""Texts of others made fit to show: kernels, compilers and models may write anything."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode's categories of what no reader sees: controls, marks of direction, halves of pairs."""

_LONGEST_WORD = 24
"""A longer word is cut, and so are paths and other texts without blanks."""


def replace_unseen(
    text: str, by: Callable[[str], str], *, keep: str = "", also: frozenset[str] = frozenset()
) -> str:
    """`text` with `by(char)` for every character that a reader would not see, but those to `keep`.

    also: further categories, by Unicode's names, that are replaced.
    """
    if text.isascii() and text.isprintable():  # as most texts are
        return text
    unseen = _UNSEEN | also
    found = {char for char in set(text) - set(keep) if unicodedata.category(char) in unseen}
    return text.translate({ord(char): by(char) for char in found}) if found else text


def cut(text: str, most: int, *, mark: str = "...") -> str:
    """`text` in at most `most` characters, the end marked if it was cut: between words if there is
    a blank near.
    """
    if len(text) <= most:
        return text
    kept = text[: max(0, most - len(mark))]
    if not text[len(kept)].isspace():
        whole = kept.rfind(" ", max(0, len(kept) - _LONGEST_WORD))
        kept = kept[:whole] if whole > 0 else kept
    return kept.rstrip(" ") + mark


def first_line(error: BaseException) -> str:
    """The first line of what an error says; the name of its type if it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def one_line(text: str, most: int, *, mark: str = "...") -> str:
    """`text` with single blanks for all white space, cut to `most` characters."""
    return cut(" ".join(text.split()), most, mark=mark)
